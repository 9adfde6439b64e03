// Why a memory was found, in words and as bars. Each bar has its own scale; the text of the bar gives the maximum.
import { html } from "./vendor/htm-preact.js";
import { Icon } from "./components.js";
import { number } from "./text.js";

const MEANING = { strong: "close in meaning", related: "related in meaning", weak: "loosely related in meaning" };
const score = (value) => value.toFixed(2);

// The largest value of each part of the score among all results. A bar with this value has the full length.
export function scalesOf(why) {
  const most = (name) => Math.max(0, ...Object.values(why).map((parts) => parts[name] ?? 0));
  return { words: most("lexical_score"), context: most("neighbours") };
}

// Why a memory was found, as a sentence.
export function whySentence(why, { confidence, mode }) {
  if (mode === "exact") return "Contains this text";
  const words = why.matched_words ?? [];
  const parts = [];
  if (mode !== "semantic" && words.length) parts.push(`has ${words.join(", ")}`);
  if (why.vector_score > 0 || !words.length) parts.unshift(MEANING[confidence] ?? "related in meaning");
  if (why.time > 0) parts.push("from the time that you name");
  if (why.speaker > 0) parts.push("said by the person that you name");
  const isContext = why.neighbours > Math.max(0, why.vector_score);
  if (!words.length && isContext) parts.push("next to other results in its session");
  const sentence = parts.join("; ");
  return sentence[0].toUpperCase() + sentence.slice(1);
}

const Bar = ({ name, value, most, children }) => html`<dt>${name}</dt><dd class="bar">
  <progress max=${most || 1} value=${Math.max(0, value)}
    aria-label=${`${name}, ${score(value)} of ${score(most)}`}></progress>
  </dd><dd class="said">${children}</dd>`;

export function Why({ memory, why, scales, mode, debug }) {
  if (!why) return null;
  const words = why.matched_words ?? [];
  return html`<details class="why"><summary><${Icon} name="right" small />
      ${whySentence(why, { confidence: memory.confidence, mode })}</summary>
    <div class="why-box"><dl>
      ${mode !== "exact" && html`<${Bar} name="Meaning" value=${why.vector_score} most=${1}>
        ${score(why.vector_score)} of 1, the same meaning</>`}
      ${scales.words > 0 && html`<${Bar} name="Words" value=${why.lexical_score} most=${scales.words}>
        ${words.length ? words.join(", ") : "none of your words"}; the best result has ${score(scales.words)}</>`}
      ${scales.context > 0 && html`<${Bar} name="Context" value=${why.neighbours} most=${scales.context}>
        ${why.neighbours > 0 ? "other results in its session" : "none"}; the best result has${" "}
        ${score(scales.context)}</>`}
      ${why.time > 0 && html`<dt>Time</dt><dd></dd><dd class="said">from the time that you name</dd>`}
      ${why.speaker > 0 && html`<dt>Speaker</dt><dd></dd><dd class="said">said by the person that you name</dd>`}
      <${Bar} name="Quality" value=${memory.quality} most=${1}>${score(memory.quality)} of 1; 0.50 is not rated</>
    </dl>
    <p class="faint">Score ${score(memory.score)} of 1. Found in ${Math.round(debug.total_ms)} ms among${" "}
      ${number(debug.candidates_considered)} candidates.</p></div></details>`;
}

// On the page Add, ask whether a pasted text of several paragraphs or list items is one memory or several.
import { html, useState } from "./vendor/htm-preact.js";
import { Button, Note } from "./components.js";
import { isSeveral, splitText } from "./split.js";
import { memories as countMemories, number, plain, shorten } from "./text.js";

const MOST_SHOWN = 20;
const MOST_CHARACTERS = 90; // maximum characters in the preview of a part

// Ask whether a text is one memory or several. The result has these fields:
//   parts     the texts of the memories; null for one memory
//   question  the element below the field that asks the question or shows the parts
//   onPaste   the handler of the event `paste`, which starts the question
//   close     ends the question
export function useParts({ form, change, draft, may, field }) {
  const [isAsking, setIsAsking] = useState(false);
  const mayAsk = may.has("ingest_memories") && !form.replaces; // a correction is one memory
  const split = mayAsk && (isAsking || form.isParts) ? splitText(form.content) : { parts: [] };
  const isParts = form.isParts && isSeveral(split);
  const onPaste = () => setTimeout(() => { // wait until the field has the text
    setIsAsking(isSeveral(splitText(draft.get().content)));
    change({ isParts: false });
  });
  const choose = (answer) => {
    setIsAsking(false);
    change({ isParts: answer });
    field.current.focus();
  };
  const question = isSeveral(split) && (isParts
    ? html`<${Parts} parts=${split.parts} onOne=${() => choose(false)} />`
    : html`<${Question} ...${split} choose=${choose} />`);
  return { parts: isParts ? split.parts : null, question, onPaste, close: () => setIsAsking(false) };
}

const Question = ({ kind, parts, choose }) => html`<${Note} kind="info" icon="list" role="status"><div class="stack-s">
  <p><strong>One memory or several?</strong> The text has ${number(parts.length)} ${kind}.</p>
  <p class="btns"><${Button} class="btn small" onClick=${() => choose(false)}>One memory</>
    <${Button} class="btn small" onClick=${() => choose(true)}>${countMemories(parts.length)}</></p></div></>`;

function Parts({ parts, onOne }) {
  const more = parts.length - MOST_SHOWN;
  return html`<section class="panel pad stack-s" aria-labelledby="parts"><h2 id="parts">
      ${countMemories(parts.length)}</h2>
    <ol class="parts small">${parts.slice(0, MOST_SHOWN).map((part) => html`<li dir="auto" lang="">
      ${shorten(plain(part), MOST_CHARACTERS)}</li>`)}</ol>
    ${more > 0 && html`<p class="help">and ${number(more)} more</p>`}
    <p class="help">They get the same tags, time, session and metadata.</p>
    <p><${Button} class="btn small" onClick=${onOne}>One memory instead</></p></section>`;
}

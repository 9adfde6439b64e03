// Show the results of a search in groups by confidence, with the matched words marked.
import { html } from "./vendor/htm-preact.js";
import { useKept } from "./address.js";
import { Button, Marked } from "./components.js";
import { useCutLine } from "./cut_lines.js";
import { expiryText } from "./dates.js";
import { HitDate, labelsOf, Pick, rowClass, RowTags } from "./row.js";
import { bodyOf, markSegments, number, passageOf, unitRanges } from "./text.js";
import { scalesOf, Why } from "./why.js";

const NAMES = { strong: "Strong", related: "Related", weak: "Weak" };
const MOST_TAGS = 4;

function Passage({ segments, kind }) {
  const line = useCutLine();
  return html`<span class=${`${kind} line`} ref=${line}><span class="fit" dir="auto" lang="">
    <${Marked} segments=${segments} /></span></span>`;
}

// Title and passage of a hit, split into segments with and without matched words. The title is null if the content
// begins with the title.
export function partsOf({ title, title_given: isGiven, content, snippet, matches = {} }) {
  const text = snippet ?? content;
  const ranges = unitRanges(text, snippet ? matches.snippet : matches.content);
  const isCut = isGiven === false || (isGiven === undefined && bodyOf(content).startsWith(title));
  const heading = isCut || !title ? null : markSegments(title, unitRanges(title, matches.title));
  return { heading, passage: passageOf(text, ranges) };
}

// Links to the memories that a result replaces, and to its near-duplicates.
function Others({ name, ids }) {
  if (!ids?.length) return null;
  const link = (id, index) => html`<a href=${`/memories/${id}`}>${ids.length > 1 ? index + 1 : "memory"}</a>`;
  return html`<span>${name} ${ids.map((id, index) => html`${index > 0 && ", "}${link(id, index)}`)}</span>`;
}

function Hit({ memory, row, answer, scales }) {
  const { heading, passage } = partsOf(memory);
  const { debug, mode } = answer;
  const address = `/memories/${memory.id}`;
  const note = memory.superseded_by ? "replaced" : expiryText(memory.expires_at);
  const badge = note && html`<span class="badge">${note}</span>`;
  const link = heading
    ? html`<a class="row-link hit-title" href=${address} onFocus=${row.onFocus} dir="auto" lang=""><${Marked}
      segments=${heading} />
        ${badge}</a><${Passage} segments=${passage} kind="passage" />`
    : html`<a class="row-link" href=${address} onFocus=${row.onFocus}><${Passage} segments=${passage}
        kind="passage lead" />${badge}</a>`;
  return html`<li class=${rowClass("hit", row)} data-id=${memory.id}>
    <${Pick} memory=${{ ...memory, preview: labelsOf(memory).text || memory.content }} ...${row} />
    <div>${link}<div class="hit-foot">
      ${memory.tags.length > 0 && html`<${RowTags} tags=${memory.tags} most=${MOST_TAGS} />`}
      <${Others} name="Replaces" ids=${memory.supersedes} />
      <${Others} name="Nearly the same:" ids=${memory.near_duplicates} />
      <${Why} memory=${memory} why=${debug?.why[memory.id]} ...${{ scales, mode, debug }} /></div></div>
    <${HitDate} at=${memory.timestamp} /></li>`;
}

export const Sure = ({ level }) => html`<span class=${`sure ${level}`}><svg viewBox="0 0 16 16" aria-hidden="true">
  <rect class="f" x="1" y="9" width="3.6" height="6" rx="1" />
  <rect class=${level === "weak" ? "" : "f"} x="6" y="5.5" width="3.6" height="9.5" rx="1" />
  <rect class=${level === "strong" ? "f" : ""} x="11" y="2" width="3.6" height="13" rx="1" /></svg>
    ${NAMES[level]}</span>`;

// Group the hits by confidence, the best group first.
export const groupsByConfidence = (hits) =>
  Object.keys(NAMES)
    .map((level) => ({ level, hits: hits.filter(({ confidence }) => (confidence ?? "related") === level) }))
    .filter((group) => group.hits.length);

// All results in one list, without their confidence.
export function HitList({ answer, hits, rowOf }) {
  const scales = scalesOf({});
  return html`<ul class="rows">${hits.map((memory) => html`<${Hit} key=${memory.id} memory=${memory}
    row=${rowOf(memory.id)} ...${{ answer, scales }} />`)}</ul>`;
}

// Results in groups by confidence. If there are better results, a button takes the place of the weak results.
export function Hits({ answer, hits, rowOf }) {
  const groups = groupsByConfidence(hits);
  const isOnlyWeak = groups.length === 1 && groups[0].level === "weak";
  const [isOpen, setIsOpen] = useKept("hasWeak", false);
  const scales = scalesOf(answer.debug?.why ?? {});
  const section = ({ level, hits: members }) => html`<section class="group" key=${level}>
    <h2 class="group-name"><${Sure} level=${level} /> <span class="num">${number(members.length)}</span>
      ${isOnlyWeak && html`<span>closest matches; probably not what you mean</span>`}</h2>
    <ul class="rows">${members.map((memory) => html`<${Hit} key=${memory.id} memory=${memory} row=${rowOf(memory.id)}
      ...${{ answer, scales }} />`)}</ul></section>`;
  const isFolded = ({ level }) => level === "weak" && !isOnlyWeak && !isOpen;
  return groups.map((group) => (isFolded(group)
    ? html`<p class="list-head" key="folded"><${Sure} level="weak" />
        <span class="grow">${number(group.hits.length)} weak ${group.hits.length === 1 ? "match" : "matches"}</span>
        <${Button} class="btn small" onClick=${() => setIsOpen(true)}>Show them</></p>`
    : section(group)));
}

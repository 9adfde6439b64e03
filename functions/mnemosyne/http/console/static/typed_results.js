// Results while a person types. They contain the typed words; Enter also searches by meaning.
import { html, useEffect } from "./vendor/htm-preact.js";
import { renameAddress, setResults } from "./address.js";
import { useAnswer } from "./components.js";
import { deletedIds } from "./deletions.js";
import { HitList } from "./hit.js";
import { useValue } from "./observable.js";
import { addressOf } from "./search_form.js";
import { useSelection } from "./selection.js";
import { quantity } from "./text.js";

const SAY_MS = 1000; // pause after the last change before a screen reader says the number of results

// A sentence about the list in two parts: the number of results, which is shown in bold, and the rest.
function typedText(count, isSearching) {
  const next = isSearching ? "Searching by meaning too …" : "Press Enter to search by meaning too.";
  if (!count) return ["No memory has these words.", next];
  return [`${quantity(count, "memory", "memories")} found by words`, `while you type. ${next}`];
}

export function TypedResults({ form, answer, may, isSearching = false }) {
  const hidden = useValue(deletedIds);
  const hits = answer.memories.filter(({ id }) => !hidden.has(id));
  const address = addressOf({ ...form, query: answer.query.trim() });
  useEffect(() => setResults({ href: address, name: "Results", ids: hits.map(({ id }) => id) }));
  const selection = useSelection({ items: hits, may, onTagged: () => {} });
  // When the person opens a memory, set the address to the typed query. Going back then leads to the full search.
  const onClick = ({ target }) => target.closest("a.row-link") && renameAddress(address);
  const [number, rest] = typedText(hits.length, isSearching);
  const said = useAnswer(number + rest, async () => `${number} ${rest}`, SAY_MS).done;
  return html`<div class="list-head"><span class="grow" aria-hidden="true"><strong>${number}</strong>${" "}
      ${rest}</span><span class="sr" role="status">${said}</span></div>
    <div class="typed" data-query=${answer.query} onClickCapture=${onClick} ref=${selection.list}>
      ${hits.length > 0 && html`<${HitList} answer=${answer} hits=${hits} rowOf=${selection.rowOf} />`}</div>
    ${selection.dialog}`;
}

// The rating of a memory. Each person has one rating per memory. A different rating replaces the earlier one, and the
// same rating again withdraws it.
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { Button, Problem, useChange } from "./components.js";
import { person } from "./health.js";
import { call } from "./mcp.js";
import { useValue } from "./observable.js";

// Counts of ratings, and the person's own rating if it is known.
export function countRatings(ratings = []) {
  const mine = ratings.find((rating) => rating.mine)?.rating ?? null;
  const count = (value) => ratings.filter(({ rating }) => rating === value).length;
  return { helped: count(1), misled: count(-1), mine };
}

export function useRatings(id, history, may) {
  const [changed, setChanged] = useState(null);
  const who = useValue(person);
  const last = useRef({ id });
  useEffect(() => {
    // The first history, or the person's name, can be loaded after the person has rated. The new rating is then kept.
    const before = last.current;
    const isReplaced = (before.history && before.history !== history) || (before.who && before.who !== who);
    if (isReplaced || before.id !== id) setChanged(null);
    last.current = { id, history, who };
  }, [id, history, who]);
  const counts = changed ?? countRatings(history?.ratings);
  const rating = useChange("Rating", async (value) => {
    const isSame = counts.mine === value;
    const answer = await call("rate_memory", { id, rating: isSame ? "none" : value });
    const before = countRatings(history?.ratings);
    setChanged({
      mine: answer.rating === undefined ? value : answer.rating,
      helped: answer.helped ?? before.helped + (value === 1 ? 1 : 0),
      misled: answer.misled ?? before.misled + (value === -1 ? 1 : 0),
    });
  });
  const mayRate = may.has("rate_memory");
  const rate = (value) => (mayRate && !rating.busy ? void rating.run(value) : false);
  return { ...counts, mayRate, rate, busy: rating.busy, error: rating.error };
}

export function Rate({ ratings }) {
  if (!ratings.mayRate) return null;
  const button = (value, icon, name) => html`<${Button} class="btn small" icon=${icon} busy=${ratings.busy}
    aria-pressed=${String(ratings.mine === value)} onClick=${() => ratings.rate(value)}>${name}</>`;
  return html`<span class="soft small">Did it help?</span>
    <span class="joined" role="group" aria-label="Rate">
      ${button(1, "up", "It helped")}${button(-1, "thumbdown", "It misled")}</span>
    <${Problem} error=${ratings.error} />`;
}

/** How many texts are kept, and the longest of them in characters: at most a few hundred kilobytes. */
const [most, longest] = [1000, 128];

const known = new Map<string, string>();

/** Returns a text as JSON. For texts that many requests share: names of resources and verbs, agents, reasons. Short ones are encoded once. */
export const quoted = (text: string): string => {
  if (text.length > longest) return JSON.stringify(text);
  const found = known.get(text);
  if (found !== undefined) return found;
  const json = JSON.stringify(text);
  // A key cut out of the JSON keeps nothing else alive; the text itself may be a part of a long URL.
  if (json.length === text.length + 2) {
    if (known.size >= most) known.clear();
    known.set(json.slice(1, -1), json);
  }
  return json;
};

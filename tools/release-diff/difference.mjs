// What the newer of two releases has and the older has not, the other way round, and what differs.

/** Compares two maps of names to text. */
export const difference = (older, newer) => ({
  added: [...newer].filter(([name]) => !older.has(name)),
  removed: [...older].filter(([name]) => !newer.has(name)),
  changed: [...newer].flatMap(([name, value]) => (older.has(name) && older.get(name) !== value ? [[name, older.get(name), value]] : [])),
});

/** The fields of the types that both releases have, by `type.field`. */
const commonFields = (types, others) =>
  new Map(
    [...types]
      .filter(([name]) => others.has(name))
      .flatMap(([name, fields]) => [...fields].map(([field, form]) => [`${name}.${field}`, form])),
  );

const nameless = types => new Map([...types].map(([name, fields]) => [name, `${fields.size} fields`]));

const withoutChanges = ({added, removed}) => ({added, removed, changed: []});

/** Returns the differences by subject. */
export const compareReleases = (older, newer) => ({
  Resources: difference(older.resources, newer.resources),
  Types: withoutChanges(difference(nameless(older.types), nameless(newer.types))),
  'Fields of types that both have': difference(commonFields(older.types, newer.types), commonFields(newer.types, older.types)),
  'Feature gates': difference(older.gates, newer.gates),
  ...(older.flags && newer.flags ? {Flags: difference(older.flags, newer.flags)} : {}),
  Metrics: difference(older.metrics, newer.metrics),
});

const byName = ([one], [other]) => (one < other ? -1 : 1);

/** Returns the differences as Markdown. */
export const asMarkdown = (differences, {older, newer}) => {
  const sections = Object.entries(differences).map(([subject, {added, removed, changed}]) => {
    const list = (title, entries, line) => (entries.length > 0 ? `${title}:\n\n${[...entries].sort(byName).map(line).join('\n')}\n\n` : '');
    return (
      `## ${subject}: ${added.length} new, ${removed.length} gone, ${changed.length} changed\n\n` +
      list('New', added, ([name, value]) => `- \`${name}\` (${value})`) +
      list('Gone', removed, ([name, value]) => `- \`${name}\` (${value})`) +
      list('Changed', changed, ([name, before, after]) => `- \`${name}\`: ${before} → ${after}`)
    );
  });
  return `# From ${older} to ${newer}\n\n${sections.join('')}`.trimEnd();
};

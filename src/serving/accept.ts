/** One media type of an `Accept` header, with its parameters. */
export interface Clause {
  readonly type: string;
  readonly params: ReadonlyMap<string, string>;
  readonly q: number;
}

/** Whether a clause precedes an earlier one of the header: by weight, and by being more specific. */
const precedes = (one: Clause, other: Clause): boolean => {
  const isNamed = ({type}: Clause, part: 0 | 1) => type.split('/')[part] !== '*';
  return one.q > other.q || ([0, 1] as const).some(part => isNamed(one, part) && !isNamed(other, part));
};

/** Sorts by insertion, as upstream does: the order is not transitive, so the algorithm affects the result. */
const inOrder = (clauses: readonly Clause[]): Clause[] => {
  const sorted: Clause[] = [];
  for (const clause of clauses) {
    let at = sorted.length;
    while (at > 0 && precedes(clause, sorted[at - 1]!)) at--;
    sorted.splice(at, 0, clause);
  }
  return sorted;
};

/** Returns the clauses of an `Accept` header, the preferred one first. */
export const parseClauses = (header: string): Clause[] => {
  const clauses = header
    .split(',')
    .map(clause => {
      const [type = '', ...rest] = clause.split(';').map(part => part.trim());
      const params = new Map(
        rest.map((param): [string, string] => {
          const equals = param.indexOf('=');
          return equals < 0
            ? [param.toLowerCase(), '']
            : [
                param.slice(0, equals).trim().toLowerCase(),
                param
                  .slice(equals + 1)
                  .trim()
                  .replace(/^"|"$/g, ''),
              ];
        }),
      );
      const q = Number(params.get('q') ?? 1);
      return {type: type === '*' ? '*/*' : type.toLowerCase(), params, q: Number.isNaN(q) ? 0 : q};
    })
    .filter(({type}) => type !== '');
  return inOrder(clauses);
};

/** Returns the clauses that match one of the media types, by name or wildcard. */
export const namedClauses = (header: string, media: readonly string[]): Clause[] =>
  parseClauses(header).filter(({type}) => type === '*/*' || media.includes(type));

/** One media type of an `Accept` header, with its parameters. */
export interface Clause {
  readonly type: string;
  readonly params: ReadonlyMap<string, string>;
  readonly q: number;
}

/** Whether a clause comes before one that the caller wrote earlier: what is wanted more, and what is named before what stands for anything. */
const comesBefore = (one: Clause, other: Clause): boolean => {
  const isNamed = ({type}: Clause, part: 0 | 1) => type.split('/')[part] !== '*';
  return one.q > other.q || ([0, 1] as const).some(part => isNamed(one, part) && !isNamed(other, part));
};

/** Clause by clause, as the original sorts them: its order is none that holds of any three clauses, so how it is made matters. */
const inOrder = (clauses: readonly Clause[]): Clause[] => {
  const sorted: Clause[] = [];
  for (const clause of clauses) {
    let at = sorted.length;
    while (at > 0 && comesBefore(clause, sorted[at - 1]!)) at--;
    sorted.splice(at, 0, clause);
  }
  return sorted;
};

/** The clauses of an `Accept` header, the one that is wanted most first. */
export const parseClauses = (header: string): Clause[] => {
  const clauses = header
    .split(',')
    .map(clause => {
      const [type = '', ...rest] = clause.split(';').map(part => part.trim());
      const params = new Map(
        rest.map((param): [string, string] => {
          const equals = param.indexOf('=');
          return equals < 0 ? [param.toLowerCase(), ''] : [param.slice(0, equals).trim().toLowerCase(), param.slice(equals + 1).trim().replace(/^"|"$/g, '')];
        }),
      );
      const q = Number(params.get('q') ?? 1);
      return {type: type === '*' ? '*/*' : type.toLowerCase(), params, q: Number.isNaN(q) ? 0 : q};
    })
    .filter(({type}) => type !== '');
  return inOrder(clauses);
};

/** The clauses that name one of the media types, or all of them. */
export const namedClauses = (header: string, media: readonly string[]): Clause[] => parseClauses(header).filter(({type}) => type === '*/*' || media.includes(type));

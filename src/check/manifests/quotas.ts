// Sums what the objects of the files ask of the resource quotas of their namespaces: the dry run of each alone does not
// see the others.

import type {kinds, Kind, ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  quantityNumber,
  subtractQuantities,
  zeroQuantity,
  type Quantity,
} from '#src/api/quantity.js';
import type {KubeObject} from '#src/api/types.js';
import {quotaEvaluators, type QuotaEvaluators} from '#src/model/quota/evaluators.js';
import {matchesAllScopes, scopesOf} from '#src/model/quota/scopes.js';
import type {Manifest} from '#src/check/files/manifest.js';
import type {Finding} from '#src/check/findings/finding.js';

export type Quota = ObjectOf<typeof kinds.resourceQuotas>;

/** So many objects that an object of the files comes to, beyond those that are there. */
export interface Demand {
  readonly manifest: Manifest;
  readonly kind: Kind;
  readonly object: KubeObject;
  readonly count: number;
  /** What is there already, and is charged. */
  readonly before?: {readonly object: KubeObject; readonly count: number} | undefined;
  /** The field that says how many. */
  readonly field: string;
}

interface Sum {
  amount: Quantity;
  readonly from: string[];
}

/** The most objects that a finding names. */
const mostNamed = 5;

const times = ({unscaled, exponent, format}: Quantity, count: number): Quantity => ({unscaled: unscaled * BigInt(count), exponent, format});

/** Sums demands on the quotas of a namespace, and finds those that they exceed. */
export const quotaFindings = (
  quotas: readonly Quota[],
  demands: readonly Demand[],
  {naming, now}: {readonly naming: Naming; readonly now: number},
): Finding[] => {
  const evaluators = quotaEvaluators(naming, () => true);
  return quotas.flatMap(quota => exceeded(quota, demands, {evaluators, naming, now}));
};

const exceeded = (
  quota: Quota,
  demands: readonly Demand[],
  context: {readonly evaluators: QuotaEvaluators; readonly naming: Naming; readonly now: number},
): Finding[] => {
  const hard = quota.spec?.hard ?? {};
  const sums = new Map<string, Sum>();
  const findings: Finding[] = [];
  const over = new Map<string, Demand>();
  for (const demand of demands) {
    for (const [name, amount] of chargeOf(quota, demand, context)) {
      if (hard[name] === undefined) continue;
      const sum = sums.get(name) ?? {amount: zeroQuantity, from: []};
      sum.amount = addQuantities(sum.amount, amount);
      if (quantityNumber(amount) > 0) sum.from.push(`${demand.manifest.object.kind} ${demand.manifest.name} ${formatQuantity(amount)}`);
      sums.set(name, sum);
      const isOver = compareQuantities(addQuantities(usedOf(quota, name), sum.amount), parseQuantity(hard[name])) > 0;
      if (isOver && quantityNumber(amount) > 0 && !over.has(name)) over.set(name, demand);
    }
  }
  for (const [name, {manifest, field}] of over) {
    const {amount, from} = sums.get(name)!;
    if (compareQuantities(addQuantities(usedOf(quota, name), amount), parseQuantity(hard[name]!)) <= 0) continue;
    const more = from.length > mostNamed ? ` and ${from.length - mostNamed} more` : '';
    findings.push(
      manifest.finding(
        'quota',
        `the resource quota ${quota.metadata?.name} allows ${name}=${hard[name]}: ${formatQuantity(usedOf(quota, name))} is used, and these files ask for ${formatQuantity(amount)} more (${from.slice(0, mostNamed).join(', ')}${more})`,
        {field},
      ),
    );
  }
  return findings;
};

const usedOf = ({status}: Quota, name: string): Quantity => {
  const text = status?.used?.[name];
  return text === undefined ? zeroQuantity : parseQuantity(text);
};

/** What a demand adds to a quota. */
const chargeOf = (
  quota: Quota,
  {kind, object, count, before}: Demand,
  {evaluators, naming, now}: {readonly evaluators: QuotaEvaluators; readonly naming: Naming; readonly now: number},
): ReadonlyMap<string, Quantity> => {
  const evaluator = evaluators.of(naming.group(kind.group), kind.plural);
  if (!evaluator) return new Map();
  const usage = (of: KubeObject, many: number): ReadonlyMap<string, Quantity> =>
    matchesAllScopes(scopesOf(quota), of, evaluator)
      ? new Map([...evaluator.usage(of, now)].map(([name, amount]) => [name, times(amount, many)]))
      : new Map();
  const sum = new Map(usage(object, count));
  if (before)
    for (const [name, amount] of usage(before.object, before.count))
      sum.set(name, subtractQuantities(sum.get(name) ?? zeroQuantity, amount));
  return sum;
};

/** The quotas as they are once the files are applied: those of the files with their limits. */
export const quotasAfter = (stored: readonly Quota[], manifests: readonly Manifest[]): Quota[] => {
  const written = new Map(manifests.map(({name, object}) => [name, object as unknown as Quota]));
  const changed = stored.map(quota => {
    const spec = written.get(quota.metadata?.name ?? '')?.spec;
    return spec ? {...quota, spec: {...quota.spec, ...spec}} : quota;
  });
  const names = new Set(stored.map(({metadata}) => metadata?.name));
  return [...changed, ...[...written].filter(([name]) => !names.has(name)).map(([, quota]) => quota)];
};

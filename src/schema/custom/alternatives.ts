import {Findings, type Reporter} from './findings.js';

/** A rule that validates a value. */
interface Rule {
  check(value: unknown, name: string, found: Findings, report: Reporter): void;
}

/** The `anyOf`, `oneOf`, `allOf` and `not` of a schema. */
export interface Alternatives {
  readonly any: readonly Rule[];
  readonly one: readonly Rule[];
  readonly all: readonly Rule[];
  readonly not: Rule | undefined;
}

const tried = (rule: Rule, value: unknown, name: string, report: Reporter): Findings => {
  const found = new Findings();
  rule.check(value, name, found, report);
  return found;
};

const better = (best: Findings | undefined, other: Findings): Findings => (!best || other.matches > best.matches ? other : best);

const anyOf = (rules: readonly Rule[], value: unknown, name: string, found: Findings, report: Reporter): void => {
  let best: Findings | undefined;
  for (const rule of rules) {
    const result = tried(rule, value, name, report);
    if (result.count === 0) return found.merge(result);
    best = better(best, result);
  }
  found.add(...report.whole(name, 'must validate at least one schema (anyOf)'));
  if (best) found.merge(best);
};

const oneOf = (rules: readonly Rule[], value: unknown, name: string, found: Findings, report: Reporter): void => {
  const results = rules.map(rule => tried(rule, value, name, report));
  const good = results.filter(({count}) => count === 0);
  if (good.length === 1) return found.merge(good[0]!);
  const detail = good.length === 0 ? 'Found none valid' : `Found ${good.length} valid alternatives`;
  found.add(...report.whole(name, `must validate one and only one schema (oneOf). ${detail}`));
  if (good.length === 0) found.merge(results.reduce(better));
};

const allOf = (rules: readonly Rule[], value: unknown, name: string, found: Findings, report: Reporter): void => {
  let valid = 0;
  for (const rule of rules) {
    const result = tried(rule, value, name, report);
    if (result.count === 0) valid += 1;
    found.merge(result);
  }
  if (valid < rules.length)
    found.add(...report.whole(name, `must validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`));
};

/** Validates a value against the alternatives. If none matches, reports the errors of the best match. */
export const checkAlternatives = (
  {any, one, all, not}: Alternatives,
  value: unknown,
  name: string,
  found: Findings,
  report: Reporter,
): void => {
  if (any.length > 0) anyOf(any, value, name, found, report);
  if (one.length > 0) oneOf(one, value, name, found, report);
  if (all.length > 0) allOf(all, value, name, found, report);
  if (not && tried(not, value, name, report).count === 0) found.add(...report.whole(name, 'must not validate the schema (not)'));
};

import {labelValueProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import type {NodeSelectorTerm} from '#src/api/pod.js';
import type {LabelSelectorObject} from '#src/api/selectors/label-selector.js';

// Deprecated node labels and the warnings about them in node selectors.

/** Returns renamed node labels with their new names. */
export const renamedNodeLabels = (naming: Naming): ReadonlyMap<string, string> =>
  new Map([
    [naming.subKey('beta', 'arch'), naming.labels.arch],
    [naming.subKey('beta', 'os'), naming.labels.os],
    [naming.subKey('failure-domain.beta', 'region'), naming.subKey('topology', 'region')],
    [naming.subKey('failure-domain.beta', 'zone'), naming.subKey('topology', 'zone')],
    [naming.subKey('beta', 'instance-type'), naming.subKey('node', 'instance-type')],
  ]);

const known = new WeakMap<Naming, ReadonlyMap<string, string>>();

/** Returns deprecated node labels with the text of their warning. */
const deprecatedLabels = (naming: Naming): ReadonlyMap<string, string> => {
  const found = known.get(naming);
  if (found) return found;
  const use = (key: string): string => `use "${key}" instead`;
  const early = [naming.labels.arch, naming.labels.os];
  const made = new Map([
    ...[...renamedNodeLabels(naming)].map(([old, key]): [string, string] => [
      old,
      `deprecated since ${early.includes(key) ? 'v1.14' : 'v1.17'}; ${use(key)}`,
    ]),
    [naming.subKey('app', 'created-by'), 'deprecated since v1.9'],
    [naming.subKey('scheduler.alpha', 'preferAvoidPods'), 'deprecated since v1.22; use Taints and Tolerations instead'],
    [naming.subKey('node-role', 'master'), use(naming.subKey('node-role', 'control-plane'))],
  ]);
  known.set(naming, made);
  return made;
};

/** Returns the warning for a deprecated node label. */
export const nodeLabelText = (key: string, naming: Naming): string | undefined => deprecatedLabels(naming).get(key);

/** Warns about a node selector term; `values` also checks whether the values are valid label values. */
export function* nodeTermWarnings(
  {matchExpressions = []}: NodeSelectorTerm,
  path: string,
  naming: Naming,
  {values: checked = false} = {},
): Iterable<string> {
  for (const [i, {key, values = []}] of matchExpressions.entries()) {
    const at = `${path}.matchExpressions[${i}]`;
    const text = nodeLabelText(key, naming);
    if (text) yield `${at}.key: ${key} is ${text}`;
    if (!checked) continue;
    for (const [j, value] of values.entries())
      for (const problem of labelValueProblems(value)) yield `${at}.values[${j}]: ${value} is invalid, ${problem}`;
  }
}

/** Warns about a label selector for nodes. */
export function* nodeSelectorWarnings(
  {matchExpressions = [], matchLabels = {}}: LabelSelectorObject,
  path: string,
  naming: Naming,
): Iterable<string> {
  for (const [i, {key}] of matchExpressions.entries()) {
    const text = nodeLabelText(key, naming);
    if (text) yield `${path}.matchExpressions[${i}].key: ${key} is ${text}`;
  }
  for (const key of Object.keys(matchLabels)) {
    const text = nodeLabelText(key, naming);
    if (text) yield `${path}.matchLabels.${key}: ${text}`;
  }
}

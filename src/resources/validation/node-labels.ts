import {labelValueProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import type {NodeSelectorTerm} from '#src/api/pod.js';
import type {LabelSelectorObject} from '#src/api/selectors/label-selector.js';

const known = new WeakMap<Naming, ReadonlyMap<string, string>>();

/** Labels of nodes that have other names now, each with what to say of it. */
const deprecatedLabels = (naming: Naming): ReadonlyMap<string, string> => {
  const found = known.get(naming);
  if (found) return found;
  const use = (key: string): string => `use "${key}" instead`;
  const since = (release: string, key: string): string => `deprecated since ${release}; ${use(key)}`;
  const made = new Map([
    [naming.subKey('beta', 'arch'), since('v1.14', naming.labels.arch)],
    [naming.subKey('beta', 'os'), since('v1.14', naming.labels.os)],
    [naming.subKey('failure-domain.beta', 'region'), since('v1.17', naming.subKey('topology', 'region'))],
    [naming.subKey('failure-domain.beta', 'zone'), since('v1.17', naming.subKey('topology', 'zone'))],
    [naming.subKey('beta', 'instance-type'), since('v1.17', naming.subKey('node', 'instance-type'))],
    [naming.subKey('app', 'created-by'), 'deprecated since v1.9'],
    [naming.subKey('scheduler.alpha', 'preferAvoidPods'), 'deprecated since v1.22; use Taints and Tolerations instead'],
    [naming.subKey('node-role', 'master'), use(naming.subKey('node-role', 'control-plane'))],
  ]);
  known.set(naming, made);
  return made;
};

/** What to say of a label of nodes that is on its way out. */
export const nodeLabelText = (key: string, naming: Naming): string | undefined => deprecatedLabels(naming).get(key);

/** What to tell of a term that chooses nodes; `values` asks besides whether nodes can have the values at all. */
export function* nodeTermWarnings({matchExpressions = []}: NodeSelectorTerm, path: string, naming: Naming, {values: checked = false} = {}): Iterable<string> {
  for (const [i, {key, values = []}] of matchExpressions.entries()) {
    const at = `${path}.matchExpressions[${i}]`;
    const text = nodeLabelText(key, naming);
    if (text) yield `${at}.key: ${key} is ${text}`;
    if (!checked) continue;
    for (const [j, value] of values.entries()) for (const problem of labelValueProblems(value)) yield `${at}.values[${j}]: ${value} is invalid, ${problem}`;
  }
}

/** What to tell of a label selector that chooses nodes. */
export function* nodeSelectorWarnings({matchExpressions = [], matchLabels = {}}: LabelSelectorObject, path: string, naming: Naming): Iterable<string> {
  for (const [i, {key}] of matchExpressions.entries()) {
    const text = nodeLabelText(key, naming);
    if (text) yield `${path}.matchExpressions[${i}].key: ${key} is ${text}`;
  }
  for (const key of Object.keys(matchLabels)) {
    const text = nodeLabelText(key, naming);
    if (text) yield `${path}.matchLabels.${key}: ${text}`;
  }
}

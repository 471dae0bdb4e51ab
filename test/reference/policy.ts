import type {KubeObject, PolicyRule} from '#src/api/types.js';
import {canonicalJson} from '#src/base/json/canonical-json.js';
import type {Row} from './table.js';

/** A role or a binding. */
export type PolicyItem = KubeObject & {readonly rules?: readonly PolicyRule[] | null};

const lists = {verbs: '', apiGroups: 'in', resources: 'on', resourceNames: 'named', nonResourceURLs: 'at'} as const;

/** Such as `get,list in apps on deployments`; the core group is `""`. */
const ruleText = (rule: PolicyRule): string =>
  Object.entries(lists)
    .flatMap(([list, word]) => {
      const values = rule[list as keyof typeof lists];
      return values ? [`${word && `${word} `}${values.map(value => value || '""').join(',')}`] : [];
    })
    .join(' ');

/** Returns a line for each role and binding: its labels and annotations, its rules, and all else as JSON. */
export const policyRows = (items: readonly PolicyItem[]): Row[] =>
  items.map(({kind = '', metadata, rules, ...rest}) => {
    const {name = '', namespace, labels = {}, annotations = {}, ...others} = metadata ?? {};
    return [
      kind,
      namespace ? `${namespace}/${name}` : name,
      Object.entries({...labels, ...annotations})
        .map(([key, value]) => `${key}=${value}`)
        .sort()
        .join(','),
      (rules ?? []).map(ruleText).join('; '),
      canonicalJson({...rest, ...(Object.keys(others).length > 0 ? {metadata: others} : {})}),
    ];
  });

import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {KindName, Resources} from './kinds.js';

export type Policy = ObjectOf<typeof kinds.validatingAdmissionPolicies>;

/** The most kinds that one policy is checked against. */
const maxKinds = 10;

const named = (list: readonly string[] = []): readonly string[] => (list.some(item => item.includes('*')) ? [] : [...list].sort());

const byText = (one: KindName, other: KindName): number => {
  const [a, b] = [one, other].map(({group, version, kind}) => [group, version, kind]) as [string[], string[]];
  const at = a.findIndex((text, index) => text !== b[index]);
  return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1;
};

/**
 * Returns the kinds that a policy matches, sorted. Rules with wildcard groups or versions are skipped, and so are
 * wildcard resources and subresources.
 */
export const kindsNamed = async ({spec}: Frozen<Policy>, resources: Resources): Promise<readonly KindName[]> => {
  const found = new Map<string, KindName>();
  const sorted = () => [...found.values()].sort(byText);
  for (const {apiGroups, apiVersions, resources: desired = []} of spec?.matchConstraints?.resourceRules ?? []) {
    let count = 0;
    const plain = desired.filter(item => !/[*/]/.test(item)).sort();
    for (const group of named(apiGroups))
      for (const version of named(apiVersions))
        for (const resource of plain) {
          for (const kind of await resources.kindsOf({group, version, resource})) {
            found.set(JSON.stringify(kind), kind);
            count += 1;
            if (count === maxKinds) return sorted();
          }
        }
  }
  return sorted();
};

// Rules of roles: merged, ordered and restricted to what was asked for.

import {kinds} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';

/** A rule that a role needs, for one resource. */
export interface Right {
  /** The group on the wire; empty for core. */
  readonly group: string;
  /** With its subresource: `pods/status`. */
  readonly resource: string;
  readonly verb: string;
  /** The namespace that it is limited to; absent for all and for cluster-scoped resources. */
  readonly namespace?: string;
  /** The object that it is limited to; absent for all. */
  readonly name?: string;
}

/** A rule as in a role. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

const verbOrder = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
const verbPlace = (verb: string): number => (verbOrder.includes(verb) ? verbOrder.indexOf(verb) : verbOrder.length);

const byVerb = (a: string, b: string): number => verbPlace(a) - verbPlace(b) || (a < b ? -1 : 1);

/** The groups of the built-in kinds, in both namings. */
const builtIn: ReadonlySet<string> = new Set(
  (['kubernetes', 'plat'] as const).flatMap(name => Object.values(kinds).map(({group}) => namingOf(name).group(group))),
);

/** Groups of your own first, so that their names do not change the order. */
const groupPlace = (group: string): string => (builtIn.has(group) ? `1${group}` : `0${group}`);

const placeOf = ({group, resource, name = ''}: Right): string => [groupPlace(group), resource, name].join('\n');

/** Returns the rights in a fixed order. */
export const sortedRights = (rights: readonly Right[]): readonly Right[] => {
  const place = (right: Right): string => [placeOf(right), right.namespace ?? '', verbPlace(right.verb), right.verb].join('\n');
  return [...rights].sort((a, b) => (place(a) < place(b) ? -1 : 1));
};

/** Whether a right is also in another one. */
export const covers = (wide: Right, right: Right): boolean =>
  wide.group === right.group &&
  wide.resource === right.resource &&
  wide.verb === right.verb &&
  (wide.namespace === undefined || wide.namespace === right.namespace) &&
  (wide.name === undefined || wide.name === right.name);

export const isSameRight = (a: Right, b: Right): boolean => covers(a, b) && covers(b, a);

/** Returns the rights without those that others cover. */
export const distinctRights = (rights: readonly Right[]): readonly Right[] =>
  rights.filter(
    (right, at) => !rights.some((other, place) => place !== at && covers(other, right) && (!isSameRight(other, right) || place < at)),
  );

/** Returns the rules of rights in one namespace, or in the cluster: one for each resource and set of names. */
export const rulesOf = (rights: readonly Right[], namespace: string | undefined): readonly PolicyRule[] => {
  const verbs = new Map<string, {readonly right: Right; readonly verbs: Set<string>}>();
  for (const right of distinctRights(rights)) {
    if (right.namespace !== namespace) continue;
    const key = placeOf(right);
    const found = verbs.get(key) ?? {right, verbs: new Set<string>()};
    verbs.set(key, {right: found.right, verbs: found.verbs.add(right.verb)});
  }
  return [...verbs]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, {right, verbs: found}]) => ({
      apiGroups: [right.group],
      resources: [right.resource],
      ...(right.name === undefined ? {} : {resourceNames: [right.name]}),
      verbs: [...found].sort(byVerb),
    }));
};

/** Words that YAML does not read as text. */
const words = /^(true|false|null|yes|no|on|off|y|n)$/i;
const scalar = (text: string): string =>
  /^[A-Za-z0-9][\w./-]*$/.test(text) && Number.isNaN(Number(text)) && !words.test(text) ? text : `'${text}'`;

/** Returns a rule as a line of a role: `- {apiGroups: [apps], resources: [deployments], verbs: [patch]}`. */
export const ruleLine = ({apiGroups, resources, resourceNames, verbs}: PolicyRule): string => {
  const list = (values: readonly string[]) => `[${values.map(scalar).join(', ')}]`;
  const names = resourceNames ? `resourceNames: ${list(resourceNames)}, ` : '';
  return `- {apiGroups: ${list(apiGroups)}, resources: ${list(resources)}, ${names}verbs: ${list(verbs)}}`;
};

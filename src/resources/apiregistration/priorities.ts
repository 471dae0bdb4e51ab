import type {GroupToken} from '#src/api/naming.js';

// The order of group versions in discovery, as the original's APIServices register it.

/**
 * The position of a group version in discovery: groups by descending number, and within a group versions by descending
 * number.
 */
export interface Priority {
  readonly group: number;
  readonly version: number;
}

/** The position of groups of custom resources; their versions are ordered by name. */
export const customPriority: Priority = {group: 1000, version: 100};
/** The group of APIService itself, which no APIService registers: it comes first. */
export const registrationGroup: GroupToken = 'apiregistration';

type Places = readonly [group: number, versions: Readonly<Record<string, number>>];

/** The positions of the built-in groups in release 1.35, and of metrics as its extension registers it. */
const places: Readonly<Partial<Record<GroupToken, Places>>> = {
  '': [18_000, {v1: 1}],
  apps: [17_800, {v1: 15}],
  events: [17_750, {v1: 15}],
  authentication: [17_700, {v1: 15}],
  authorization: [17_600, {v1: 15}],
  autoscaling: [17_500, {v2: 30, v1: 15}],
  batch: [17_400, {v1: 15}],
  certificates: [17_300, {v1: 15, v1beta1: 9, v1alpha1: 1}],
  networking: [17_200, {v1: 15, v1beta1: 9}],
  policy: [17_100, {v1: 15}],
  'rbac.authorization': [17_000, {v1: 15}],
  storage: [16_800, {v1: 15, v1beta1: 9, v1alpha1: 1}],
  apiextensions: [16_700, {v1: 15}],
  admissionregistration: [16_700, {v1: 15, v1beta1: 12, v1alpha1: 9}],
  scheduling: [16_600, {v1: 15, v1alpha1: 1}],
  coordination: [16_500, {v1: 15, v1beta1: 13, v1alpha2: 12}],
  node: [16_300, {v1: 15}],
  discovery: [16_200, {v1: 15}],
  resource: [16_200, {v1: 21, v1beta2: 15, v1beta1: 9, v1alpha3: 1}],
  'flowcontrol.apiserver': [16_100, {v1: 21}],
  'internal.apiserver': [16_000, {v1alpha1: 9}],
  storagemigration: [15_800, {v1beta1: 9}],
  metrics: [100, {v1beta1: 100}],
};

/** Returns the position of a built-in group version; undefined if it has none. */
export const builtInPriority = (group: GroupToken, version: string): Priority | undefined => {
  const [ofGroup, versions] = places[group] ?? [];
  const ofVersion = versions?.[version];
  return ofGroup === undefined || ofVersion === undefined ? undefined : {group: ofGroup, version: ofVersion};
};

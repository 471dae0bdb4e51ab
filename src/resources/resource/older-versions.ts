import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {ServedVersion} from '#src/resources/definition.js';

// Conversion of v1beta1 of the group `resource`, which differs from the hub in nesting only.

type Fields = Readonly<Record<string, unknown>>;
type Change = (item: Fields) => Fields;

/** Returns the object with each item of the list at the path converted; without such a list, the object itself. */
const each = (object: Fields, [first, ...rest]: readonly string[], change: Change): Fields => {
  const value = object[first!];
  if (Array.isArray(value) && rest.length === 0) return {...object, [first!]: value.map((item: Fields) => change(item))};
  if (typeof value !== 'object' || value === null || rest.length === 0) return object;
  return {...object, [first!]: each(value as Fields, rest, change)};
};

const isSet = (value: unknown): boolean => value !== undefined && value !== null && value !== '' && value !== 0;

/** v1beta1 has the fields of a request inline; the other versions below `exactly`. */
const nested: Change = ({name, firstAvailable, ...request}) => ({
  name,
  ...(Object.values(request).some(isSet) ? {exactly: request} : {}),
  ...(firstAvailable === undefined ? {} : {firstAvailable}),
});

const flat: Change = ({exactly, ...rest}) => ({...rest, deviceClassName: '', ...(exactly as Fields | undefined)});

/** v1beta1 has the fields of a device below `basic`. */
const outOfBasic: Change = ({name, basic}) => ({name, ...(basic as Fields | undefined)});
const intoBasic: Change = ({name, ...basic}) => ({name, basic});

const version = <Hub extends KubeObject>(kind: Kind, path: string, to: Change, from: Change): ServedVersion<Hub> => ({
  kind,
  deprecation: {since: 'v1.35', until: 'v1.38'},
  toHub: object => each(object as Fields, path.split('.'), to) as unknown as Hub,
  fromHub: hub => each(hub as unknown as Fields, path.split('.'), from) as KubeObject,
});

/** Returns v1beta1 of kinds with requests at the path (KEP-4381). */
export const flatRequests = <Hub extends KubeObject>(kind: Kind, path: string): ServedVersion<Hub> => version(kind, path, nested, flat);

/** Returns v1beta1 of slices (KEP-4381). */
export const basicDevices = <Hub extends KubeObject>(kind: Kind): ServedVersion<Hub> =>
  version(kind, 'spec.devices', outOfBasic, intoBasic);

import {invalid, invalidText, required, tooLong, type FieldError} from '#src/api/field-error.js';
import type {NodeSelector} from '#src/api/pod.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {validateNodeSelector} from '#src/resources/validation/node-selector.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {dnsLabel, dnsSubdomain} from '#src/resources/validation/values.js';
import {validateBinding} from './binding.js';
import {validateCapacity, type Capacity} from './capacity.js';
import {list, map, set} from './collections.js';
import {longestQualifiedName, qualifiedName} from './names.js';
import {validateTaint, type DeviceTaint} from './taints.js';

export interface Attribute {
  bool?: boolean;
  int?: number;
  string?: string;
  version?: string;
}

export interface Consumption {
  counterSet: string;
  counters: Record<string, {value: string}>;
}

export interface Device {
  name: string;
  attributes?: Record<string, Attribute>;
  capacity?: Record<string, Capacity>;
  consumesCounters?: Consumption[];
  nodeName?: string;
  nodeSelector?: NodeSelector;
  allNodes?: boolean;
  taints?: DeviceTaint[];
  bindsToNode?: boolean;
  bindingConditions?: string[];
  bindingFailureConditions?: string[];
  allowMultipleAllocations?: boolean;
}

const max = {properties: 32, taints: 16, consumptions: 2, counters: 32};
const longestValue = 64;
const longestLabel = 63;

const number = '(0|[1-9]\\d*)';
const release = '(0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)';
const build = '[0-9a-zA-Z-]+';
/** A version by semver.org 2.0.0. */
const isVersion = new RegExp(`^${number}\\.${number}\\.${number}(-${release}(\\.${release})*)?(\\+${build}(\\.${build})*)?$`);

function* validateAttribute(attribute: Readonly<Attribute>, path: string): Iterable<FieldError> {
  const {string: text, version} = attribute;
  if (text !== undefined && Buffer.byteLength(text) > longestValue) yield tooLong(`${path}.string`, longestValue);
  if (version !== undefined) {
    if (!isVersion.test(version)) yield invalid(`${path}.version`, version, 'must be a string compatible with semver.org spec 2.0.0');
    if (Buffer.byteLength(version) > longestValue) yield tooLong(`${path}.version`, longestValue);
  }
  const given = (['bool', 'int', 'string', 'version'] as const).filter(field => attribute[field] !== undefined);
  if (given.length !== 1)
    yield invalid(path, given.length === 0 ? '' : internalForm('DeviceAttribute', attribute), 'exactly one value must be specified');
}

/** Validates counters by name; every quantity is valid. */
export const validateCounters = (counters: Consumption['counters'] | undefined, path: string): Iterable<FieldError> =>
  Object.keys(counters ?? {}).length === 0
    ? [required(path)]
    : map(path, counters, {max: max.counters, longestKey: longestLabel, key: dnsLabel});

function* validateConsumption({counterSet, counters}: Readonly<Consumption>, path: string): Iterable<FieldError> {
  if (counterSet) yield* dnsLabel(`${path}.counterSet`, counterSet);
  else yield required(`${path}.counterSet`);
  yield* validateCounters(counters, `${path}.counters`);
}

function* validatePlace({nodeName, nodeSelector, allNodes}: Readonly<Device>, path: string, own: boolean): Iterable<FieldError> {
  if (!own) {
    if (nodeName !== undefined || nodeSelector || allNodes !== undefined) {
      yield invalidText(
        path,
        'null',
        '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
      );
    }
    return;
  }
  const given: string[] = [];
  if (nodeName) {
    given.push('`nodeName`');
    yield* dnsSubdomain(`${path}.nodeName`, nodeName);
  } else if (nodeName !== undefined) yield invalid(`${path}.nodeName`, nodeName, 'must not be empty');
  if (nodeSelector) {
    given.push('`nodeSelector`');
    yield* validateNodeSelector(nodeSelector, `${path}.nodeSelector`, false);
  }
  if (allNodes) given.push('`allNodes`');
  else if (allNodes !== undefined) yield invalid(`${path}.allNodes`, allNodes, 'must be either unset or set to true');
  const text =
    'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec';
  if (given.length === 0) yield required(path, text);
  else if (given.length > 1) yield invalid(path, `{${given.join(', ')}}`, text);
}

/** Validates a device. `placed` if each device of the slice has its own node selection. */
export function* validateDevice(
  device: Readonly<Device>,
  old: Readonly<Device> | undefined,
  path: string,
  placed: boolean,
): Iterable<FieldError> {
  const {attributes = {}, capacity = {}} = device;
  yield* dnsLabel(`${path}.name`, device.name ?? '');
  const count = Object.keys(attributes).length + Object.keys(capacity).length;
  if (count > max.properties) yield invalid(path, count, `the total number of attributes and capacities must not exceed ${max.properties}`);
  const rules = {max: Number.POSITIVE_INFINITY, longestKey: longestQualifiedName, key: qualifiedName};
  yield* map(`${path}.attributes`, attributes, {...rules, validate: validateAttribute});
  yield* map(`${path}.capacity`, capacity, {...rules, validate: validateCapacity(device.allowMultipleAllocations === true)});
  if (!old || !semanticallyEqual(old.taints, device.taints))
    yield* list(`${path}.taints`, device.taints, max.taints, (taint, at) => validateTaint(taint, at));
  yield* set(`${path}.consumesCounters`, device.consumesCounters, max.consumptions, validateConsumption, ({counterSet}) => counterSet);
  yield* validatePlace(device, path, placed);
  yield* validateBinding(device, path);
}

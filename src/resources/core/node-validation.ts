import {duplicate, forbiddenField, internalFieldError, invalid, type FieldError} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import {parseRange} from '#src/base/ip-address.js';
import type {HookContext} from '#src/resources/definition.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {legacyRange} from '#src/resources/validation/ip-fields.js';
import {resourceQuantity} from '#src/resources/validation/resource-lists.js';
import {validateNodeConfig} from './node-config.js';
import {validateNodeAnnotations, validateTaints} from './node-taints.js';

/** The wrong path is the original's. */
const taintsPath = 'metadata.taints';
const longestFeature = 253;

function* validateResources({status}: Readonly<Node>, naming: Naming): Iterable<FieldError> {
  for (const field of ['capacity', 'allocatable'] as const) {
    for (const [resource, text] of Object.entries(status?.[field] ?? {}))
      yield* resourceQuantity(`status.${field}.${resource}`, resource, String(text), naming);
  }
}

const featureProblem = (feature: string): string | undefined => {
  const what = `invalid feature name ${JSON.stringify(feature)}`;
  if (Buffer.byteLength(feature) > longestFeature) return `${what}: must be no more than ${longestFeature} characters`;
  if (/^[A-Z][a-zA-Z0-9]*(?:\/[a-zA-Z][a-zA-Z0-9]*)*$/.test(feature)) return undefined;
  return `${what}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`;
};

function* validateFeatures({status}: Readonly<Node>): Iterable<FieldError> {
  const features = status?.declaredFeatures ?? [];
  for (const [i, feature] of features.entries()) {
    const path = `status.declaredFeatures[${i}]`;
    const before = features[i - 1];
    if (before === feature) yield duplicate(path, feature);
    else if (before !== undefined && Buffer.compare(Buffer.from(before), Buffer.from(feature)) > 0)
      yield invalid(path, feature, 'list must be sorted alphabetically');
    const problem = featureProblem(feature);
    if (problem !== undefined) yield invalid(path, feature, problem);
  }
}

function* validateRanges(ranges: readonly string[], strict: boolean): Iterable<FieldError> {
  const path = 'spec.podCIDRs';
  for (const [i, range] of ranges.entries()) yield* legacyRange(`${path}[${i}]`, range, {strict});
  if (ranges.length < 2) return;
  const wrong = ranges.find(range => !parseRange(range, true));
  if (wrong !== undefined) {
    yield internalFieldError(
      path,
      `invalid PodCIDRs. failed to check with dual stack with error:failed to parse cidr value:${JSON.stringify(wrong)} with error:invalid CIDR address: ${wrong}`,
    );
  }
  const families = new Set(ranges.map(range => parseRange(range, true)?.address.family));
  if (wrong !== undefined || families.size < 2 || ranges.length > 2)
    yield invalid(path, ranges, 'may specify no more than one CIDR for each IP family');
}

/** Validates a new node. */
export function* validateNode(node: Readonly<Node>, {naming, gate}: HookContext): Iterable<FieldError> {
  yield* validateNodeAnnotations(node, naming);
  yield* validateTaints(node.spec?.taints ?? [], taintsPath);
  yield* validateResources(node, naming);
  const swap = node.status?.nodeInfo?.swap?.capacity;
  if (swap !== undefined && swap <= 0) yield invalid('metadata.nodeSwapStatus.capacity', swap, 'must be greater than zero');
  yield* validateFeatures(node);
  yield* validateRanges(node.spec?.podCIDRs ?? [], gate('StrictIPCIDRValidation'));
}

function* validateAddresses({status}: Readonly<Node>): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [i, address] of (status?.addresses ?? []).entries()) {
    const text = `${address.type}\0${address.address}`;
    if (seen.has(text)) yield duplicate(`status.addresses[${i}]`, {Type: address.type, Address: address.address});
    seen.add(text);
  }
}

/** Validates an update of a node or its status: pod ranges and the provider id are set once. */
export function* validateNodeUpdate(node: Readonly<Node>, old: Readonly<Node>, {naming}: HookContext): Iterable<FieldError> {
  yield* validateNodeAnnotations(node, naming);
  yield* validateResources(node, naming);
  yield* validateFeatures(node);
  yield* validateAddresses(node);
  const [spec, before] = [node.spec ?? {}, old.spec ?? {}];
  const ranges = before.podCIDRs ?? [];
  if (ranges.length > 0 && !semanticallyEqual(spec.podCIDRs, ranges)) {
    const changed = spec.podCIDRs?.length === ranges.length ? ranges.filter((range, i) => range !== spec.podCIDRs?.[i]) : [''];
    for (const _ of changed) yield forbiddenField('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid');
  }
  if (before.providerID && spec.providerID !== before.providerID) {
    yield forbiddenField('spec.providerID', 'node updates may not change providerID except from "" to valid');
  }
  yield* validateNodeConfig(node);
  yield* validateTaints(spec.taints ?? [], taintsPath);
  if ((spec.externalID ?? '') !== (before.externalID ?? '')) yield forbiddenField('spec.externalID', 'may not be updated');
}

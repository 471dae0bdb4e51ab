import {isIPv4} from 'node:net';
import {duplicate, forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {labelKeyProblems, labelValueProblems} from '#src/api/names.js';
import {parseQuantity, quantityMilliValue, type Quantity} from '#src/api/quantity.js';
import type {Node} from '#src/api/types.js';
import {isCidr} from '#src/resources/validation/addresses.js';
import {sameContent} from '#src/resources/validation/equality.js';

type Taint = NonNullable<NonNullable<Node['spec']>['taints']>[number];

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];
/** The doubtful path is what callers of the original see. */
const taintsPath = 'metadata.taints';

function* validateTaint({key, value, effect}: Readonly<Taint>, path: string): Iterable<FieldError> {
  for (const problem of labelKeyProblems(key ?? '')) yield invalid(`${path}.key`, key ?? '', problem);
  const problems = labelValueProblems(value ?? '');
  if (problems.length > 0) yield invalid(`${path}.value`, value, problems.join(';'));
  if (!effect) yield required(`${path}.effect`);
  else if (!effects.includes(effect)) yield notSupported(`${path}.effect`, effect, effects);
}

function* validateTaints(taints: readonly Taint[]): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [i, taint] of taints.entries()) {
    const path = `${taintsPath}[${i}]`;
    yield* validateTaint(taint, path);
    const pair = `${taint.effect}\0${taint.key}`;
    if (seen.has(pair)) {
      const twice = duplicate(path, taint);
      yield {...twice, detail: `${twice.detail}: taints must be unique by key and effect pair`};
    }
    seen.add(pair);
  }
}

/** Resources that only come in whole pieces: all that are not the platform's own, and pods. */
const isWhole = (resource: string): boolean => resource === 'pods' || (resource.includes('/') && !resource.startsWith('hugepages-'));

const quantityOf = (text: string): Quantity | undefined => {
  try {
    return parseQuantity(String(text));
  } catch {
    return undefined;
  }
};

function* validateAmounts(amounts: Readonly<Record<string, string>> | undefined, path: string): Iterable<FieldError> {
  for (const [resource, text] of Object.entries(amounts ?? {})) {
    const at = `${path}[${resource}]`;
    const quantity = quantityOf(text);
    if (!quantity) {
      yield invalid(at, text, 'must be a quantity');
      continue;
    }
    if (quantity.unscaled < 0n) yield invalid(at, text, 'must be greater than or equal to 0');
    if (isWhole(resource) && quantityMilliValue(quantity) % 1000n !== 0n) yield invalid(at, text, 'must be an integer');
  }
}

function* validateResources({status}: Readonly<Node>): Iterable<FieldError> {
  yield* validateAmounts(status?.capacity, 'status.capacity');
  yield* validateAmounts(status?.allocatable, 'status.allocatable');
}

function* validateRanges(ranges: readonly string[]): Iterable<FieldError> {
  const path = 'spec.podCIDRs';
  for (const [i, range] of ranges.entries()) {
    if (!isCidr(range)) yield invalid(`${path}[${i}]`, range, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)');
  }
  if (ranges.length < 2 || !ranges.every(isCidr)) return;
  const families = new Set(ranges.map(range => isIPv4(range.split('/')[0]!)));
  if (families.size < 2 || ranges.length > 2) yield invalid(path, ranges, 'may specify no more than one CIDR for each IP family');
}

/** What is wrong with a node that registers. */
export function* validateNode(node: Readonly<Node>): Iterable<FieldError> {
  yield* validateTaints(node.spec?.taints ?? []);
  yield* validateResources(node);
  yield* validateRanges(node.spec?.podCIDRs ?? []);
}

/** What is wrong with a change: ranges and the provider's id are given once and stay. */
export function* validateNodeUpdate(node: Readonly<Node>, old: Readonly<Node>): Iterable<FieldError> {
  yield* validateResources(node);
  const seen = new Set<string>();
  for (const [i, address] of (node.status?.addresses ?? []).entries()) {
    const text = `${address.type}\0${address.address}`;
    if (seen.has(text)) yield duplicate(`status.addresses[${i}]`, address);
    seen.add(text);
  }
  const [spec, before] = [node.spec ?? {}, old.spec ?? {}];
  if ((before.podCIDRs ?? []).length > 0 && !sameContent(spec.podCIDRs, before.podCIDRs)) {
    yield forbiddenField('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid');
  }
  if (before.providerID && spec.providerID !== before.providerID) {
    yield forbiddenField('spec.providerID', 'node updates may not change providerID except from "" to valid');
  }
  yield* validateTaints(spec.taints ?? []);
  if ((spec.externalID ?? '') !== (before.externalID ?? '')) yield forbiddenField('spec.externalID', 'may not be updated');
}

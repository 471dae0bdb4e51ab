import {isIpv6} from '#src/base/ip-address.js';
import {duplicate, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {legacyIp} from '#src/resources/validation/ip-fields.js';
import {headless, isHeadless, type Service, type ServiceSpec} from './traits.js';

// Validation of cluster IPs, IP families and family policy: of one service, and of updates, where the first address is
// immutable.

const path = 'spec.clusterIPs';
const once = 'may not change once set';

function* agreement({clusterIP, clusterIPs = []}: Readonly<ServiceSpec>): Iterable<FieldError> {
  if (!clusterIP) {
    if (clusterIPs.length > 0) yield invalid(path, clusterIPs, 'must be empty when `clusterIP` is not specified');
  } else if (clusterIPs.length === 0) yield required(path);
  else if (clusterIPs[0] !== clusterIP) yield invalid(path, clusterIPs, 'first value must match `clusterIP`');
}

function* families({ipFamilies = [], ipFamilyPolicy}: Readonly<ServiceSpec>): Iterable<FieldError> {
  for (const [i, family] of ipFamilies.entries()) {
    const at = `spec.ipFamilies[${i}]`;
    if (family !== 'IPv4' && family !== 'IPv6') yield notSupported(at, family, ['IPv4', 'IPv6']);
    if (ipFamilies.indexOf(family) < i) yield duplicate(at, family);
  }
  const policies = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];
  if (ipFamilyPolicy !== undefined && !policies.includes(ipFamilyPolicy))
    yield notSupported('spec.ipFamilyPolicy', ipFamilyPolicy, policies);
}

function* addresses(clusterIPs: readonly string[], stored: readonly string[] | undefined, strict: boolean): Iterable<FieldError> {
  for (const [i, address] of clusterIPs.entries()) {
    if (i > 0 || address !== headless) yield* legacyIp(`${path}[${i}]`, address, {strict, stored});
    else if (clusterIPs.length > 1) yield invalid(path, clusterIPs, "'None' must be the first and only value");
  }
}

/**
 * Validates a service's addresses, IP families and family policy against each other. Called before allocation as well,
 * which relies on it.
 */
export function* validateClusterIps(
  spec: Readonly<ServiceSpec>,
  old: Readonly<ServiceSpec> | undefined,
  strict: boolean,
): Iterable<FieldError> {
  if (spec.type === 'ExternalName') return;
  const {clusterIPs = [], ipFamilies = []} = spec;
  yield* agreement(spec);
  yield* families(spec);
  const wrong = collectErrors(addresses(clusterIPs, old?.clusterIPs, strict));
  yield* wrong;
  if (clusterIPs.length > 2) yield invalid(path, clusterIPs, 'may only hold up to 2 values');
  // The remaining checks would only repeat that an address is invalid.
  if (wrong.length > 0) return;
  if (clusterIPs.length > 1 && new Set(clusterIPs.map(isIpv6)).size < clusterIPs.length) {
    yield invalid(path, clusterIPs, 'may specify no more than one IP for each IP family');
  }
  if (isHeadless(spec)) return;
  for (const [i, address] of clusterIPs.slice(0, ipFamilies.length).entries()) {
    const family = ipFamilies[i];
    if ((family === 'IPv4' && isIpv6(address)) || (family === 'IPv6' && !isIpv6(address))) {
      yield invalid(`${path}[${i}]`, address, `expected an ${family} value as indicated by \`ipFamilies[${i}]\``);
    }
  }
}

/**
 * Validates an update of the addresses: the first is immutable; the second may be added, and removed with its policy.
 */
export function* validateClusterIpsUpdate({spec = {}}: Readonly<Service>, {spec: old = {}}: Readonly<Service>): Iterable<FieldError> {
  if (spec.type === 'ExternalName' || old.type === 'ExternalName') return;
  if (isHeadless(spec) && isHeadless(old)) return;
  const [now = [], before = []] = [spec.clusterIPs, old.clusterIPs];
  if (now.length === before.length) {
    for (const [i, address] of before.entries()) if (address !== now[i]) yield invalid(`${path}[${i}]`, now, once);
    return;
  }
  const released = now.length < before.length;
  if (released && now.length === 0) yield invalid(`${path}[0]`, now, 'primary clusterIP can not be unset');
  if (now.length > 0 && before.length > 0 && now[0] !== before[0]) yield invalid(`${path}[0]`, now, once);
  if (released && now.length === 1 && spec.ipFamilyPolicy !== 'SingleStack') {
    yield invalid('spec.ipFamilyPolicy', spec.ipFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary clusterIP");
  }
}

/**
 * Validates an update of the IP families, which follow the addresses; only services without addresses may change them
 * freely.
 */
export function* validateFamiliesUpdate({spec = {}}: Readonly<Service>, {spec: old = {}}: Readonly<Service>): Iterable<FieldError> {
  if (spec.type === 'ExternalName' || old.type === 'ExternalName') return;
  if (isHeadless(spec) || isHeadless(old)) return;
  const at = 'spec.ipFamilies[0]';
  const [now = [], before = []] = [spec.ipFamilies, old.ipFamilies];
  if (now.length === before.length) {
    for (const [i, family] of before.entries()) if (family !== now[i]) yield invalid(at, now, once);
    return;
  }
  const released = now.length < before.length;
  if (released && (spec.clusterIPs ?? []).length === 0) yield invalid(at, now, 'primary ipFamily can not be unset');
  if (now.length > 0 && before.length > 0 && now[0] !== before[0]) yield invalid(at, spec.clusterIPs ?? [], once);
  if (released && now.length === 1 && spec.ipFamilyPolicy !== 'SingleStack') {
    yield invalid('spec.ipFamilyPolicy', spec.ipFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary ipFamily");
  }
}

import {invalid, type FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import {familyOf, otherFamily, type IpFamily} from '#src/resources/ip-family.js';
import {validateClusterIps} from './cluster-ips.js';
import {headless, needsClusterIp, sameList, type ServiceSpec} from './traits.js';

const path = 'spec.ipFamilyPolicy';
const preferBoth = 'PreferDualStack';

/**
 * Reports whether a PreferDualStack service stays unchanged: it does not move when the cluster gains or loses a family.
 */
export const isUnchangedPreference = (spec: Readonly<ServiceSpec>, old: Readonly<ServiceSpec>): boolean =>
  spec.ipFamilyPolicy === preferBoth &&
  (old.ipFamilyPolicy === undefined || old.ipFamilyPolicy === preferBoth) &&
  spec.type === old.type &&
  needsClusterIp(spec) &&
  sameList(spec.clusterIPs, old.clusterIPs) &&
  sameList(spec.ipFamilies, old.ipFamilies);

const isSelectorlessHeadless = ({clusterIP, selector = {}}: Readonly<ServiceSpec>): boolean =>
  clusterIP === headless && Object.keys(selector).length === 0;

/** Removes the second family if a single one is requested; omitting it without such a request is an error. */
function* reduce(spec: ServiceSpec, old: Readonly<ServiceSpec>): Iterable<FieldError> {
  if (spec.ipFamilyPolicy === 'SingleStack') {
    if (sameList(spec.clusterIPs, old.clusterIPs) && (spec.clusterIPs ?? []).length > 1) spec.clusterIPs = spec.clusterIPs!.slice(0, 1);
    if (sameList(spec.ipFamilies, old.ipFamilies) && (spec.ipFamilies ?? []).length > 1) spec.ipFamilies = spec.ipFamilies!.slice(0, 1);
    return;
  }
  const reduced = (now: readonly string[] = [], before: readonly string[] = []): boolean => now.length > 0 && now.length < before.length;
  if (reduced(spec.clusterIPs, old.clusterIPs))
    yield invalid(path, spec.ipFamilyPolicy, "must be 'SingleStack' to release the secondary cluster IP");
  if (reduced(spec.ipFamilies, old.ipFamilies))
    yield invalid(path, spec.ipFamilyPolicy, "must be 'SingleStack' to release the secondary IP family");
}

function* infer(spec: ServiceSpec, known: readonly IpFamily[]): Iterable<FieldError> {
  const {clusterIPs = [], ipFamilyPolicy: policy} = spec;
  const families = [...(spec.ipFamilies ?? [])];
  if (policy === 'SingleStack') {
    const both = (what: string): FieldError =>
      invalid(path, policy, `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`);
    if (clusterIPs.length === 2) yield both('cluster IPs');
    if (families.length === 2) yield both('IP families');
  }
  for (const [i, address] of clusterIPs.entries()) {
    if (address === headless) break;
    if (i < families.length) continue;
    const family = familyOf(address);
    if (known.includes(family)) families.push(family);
    else yield invalid(`spec.clusterIPs[${i}]`, clusterIPs, `${family} is not configured on this cluster`);
  }
  if (families.length > 0) spec.ipFamilies = families;
}

function* conform({ipFamilyPolicy: policy, ipFamilies = []}: Readonly<ServiceSpec>, known: readonly IpFamily[]): Iterable<FieldError> {
  if (policy === 'RequireDualStack' && known.length < 2)
    yield invalid(path, policy, 'this cluster is not configured for dual-stack services');
  for (const [i, family] of ipFamilies.entries()) {
    if (!known.some(one => one === family)) yield invalid(`spec.ipFamilies[${i}]`, family, 'not configured on this cluster');
  }
}

/** Adds the default family, and the second one if the policy wants both. */
const complete = (spec: ServiceSpec, known: readonly IpFamily[], takesBoth: boolean): void => {
  const families = (spec.ipFamilies?.length ? spec.ipFamilies : [known[0]!]) as IpFamily[];
  const second = families.length === 1 && takesBoth && spec.ipFamilyPolicy !== 'SingleStack' ? [otherFamily(families[0]!)] : [];
  spec.ipFamilies = [...families, ...second];
};

/**
 * Determines the IP families of a service from its spec and those of the cluster; the first of `known` is the default.
 */
export const decideFamilies = (
  spec: ServiceSpec,
  old: Readonly<ServiceSpec> | undefined,
  known: readonly IpFamily[],
  strict: boolean,
): FieldError[] => {
  if (!needsClusterIp(spec) || (old && isUnchangedPreference(spec, old))) return [];
  spec.ipFamilyPolicy ??= old?.ipFamilyPolicy ?? (isSelectorlessHeadless(spec) ? 'RequireDualStack' : 'SingleStack');
  const wrong = collectErrors(validateClusterIps(spec, old, strict));
  if (wrong.length > 0) return wrong;
  const errors = collectErrors(old ? reduce(spec, old) : [], infer(spec, known));
  if (errors.length > 0) return errors;
  if (isSelectorlessHeadless(spec)) {
    complete(spec, known, true);
    return [];
  }
  const unfit = collectErrors(conform(spec, known));
  if (unfit.length === 0) complete(spec, known, known.length === 2);
  return unfit;
};

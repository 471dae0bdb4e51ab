// What the configuration and the Node together say about the rules, and what is wrong with them.

import {formatRange, parseLooseIp} from '#src/base/ip-address.js';
import type {Log} from '#src/base/log.js';
import type {LocalDetection, RuleSettings} from '#src/proxy/mode/settings.js';
import {familyOfIp, familyOfRange, ipFamilies, otherFamily, parseLooseRange, type IpFamily} from '#src/proxy/state/ip-family.js';
import {isLoopback} from '#src/base/ip-address.js';
import {nodeIpsOf, type NodeIps} from './node-ips.js';

/** The fields of the configuration that the rules follow from. */
export interface RuleConfiguration {
  readonly nodeName: string;
  readonly bindAddress: string;
  readonly masqueradeAll: boolean;
  readonly masqueradeBit: number;
  readonly detectLocalMode: 'ClusterCIDR' | 'NodeCIDR' | 'BridgeInterface' | 'InterfaceNamePrefix';
  readonly clusterCidrs: readonly string[];
  readonly bridgeInterface: string;
  readonly interfaceNamePrefix: string;
  /** Ranges, or `primary` alone for the addresses of the Node. */
  readonly nodePortAddresses: readonly string[];
  readonly healthzBindAddress: string;
  readonly metricsBindAddress: string;
}

/** What the Node has. */
export interface NodeFacts {
  readonly hostIps: readonly string[];
  readonly podRanges: readonly string[];
}

/** The settings of the rules, and the families that have some. */
export interface ResolvedSettings {
  readonly rules: RuleSettings;
  readonly primary: IpFamily;
  readonly families: readonly IpFamily[];
}

const rangesByFamily = (texts: readonly string[]): Partial<Record<IpFamily, string>> => {
  const found: Partial<Record<IpFamily, string>> = {};
  for (const text of texts) {
    const range = parseLooseRange(text);
    if (range) found[`IPv${range.address.family}`] ??= formatRange(range);
  }
  return found;
};

const localDetection = (configuration: RuleConfiguration, {podRanges}: NodeFacts, primary: IpFamily, log: Log): LocalDetection => {
  const {detectLocalMode, clusterCidrs, bridgeInterface, interfaceNamePrefix} = configuration;
  switch (detectLocalMode) {
    case 'BridgeInterface':
      return {by: 'interface', name: bridgeInterface};
    case 'InterfaceNamePrefix':
      return {by: 'interfacePrefix', prefix: interfaceNamePrefix};
    case 'ClusterCIDR':
    case 'NodeCIDR': {
      const isCluster = detectLocalMode === 'ClusterCIDR';
      const ranges = rangesByFamily(isCluster ? clusterCidrs : podRanges);
      if (ranges[primary] === undefined)
        log.info(
          {ipFamily: primary, ranges: isCluster ? clusterCidrs : podRanges},
          isCluster
            ? 'detect-local-mode is ClusterCIDR, but there is no cluster CIDR of the primary IP family'
            : 'detect-local-mode is NodeCIDR, but the node has no pod CIDR of the primary IP family',
        );
      return {by: 'ranges', ranges};
    }
  }
};

/** `primary` stands for the addresses of the Node. */
const nodePortRanges = (given: readonly string[], {byFamily}: NodeIps): readonly string[] =>
  given.length === 1 && given[0] === 'primary'
    ? ipFamilies.flatMap(family => (isLoopback(byFamily[family]) ? [] : [`${byFamily[family]}/${family === 'IPv4' ? 32 : 128}`]))
    : given;

const isDualStack = (ranges: readonly string[]): boolean => new Set(ranges.map(familyOfRange)).size > 1;

/** Tells of settings that leave node ports open to more than was probably meant. */
const nodePortAdvice = (ranges: readonly string[], others: readonly (readonly string[])[], primary: IpFamily): string | undefined => {
  const ofPrimary = ranges.filter(range => familyOfRange(range) === primary).length;
  const open = (family: IpFamily) => `NodePort connections will be accepted on all local ${family} IPs`;
  if (ranges.length === 0)
    return 'nodePortAddresses is unset; NodePort connections will be accepted on all local IPs. Consider using `--nodeport-addresses primary`';
  if ([ranges, ...others].some(isDualStack) && ofPrimary === ranges.length)
    return `cluster appears to be dual-stack but nodePortAddresses contains only ${primary} addresses; ${open(otherFamily(primary))}`;
  if (ofPrimary === 0)
    return `cluster appears to be ${primary}-primary but nodePortAddresses contains only ${otherFamily(primary)} addresses; ${open(primary)}`;
  return undefined;
};

const isOnly = (ranges: readonly string[], family: IpFamily): boolean =>
  ranges.length > 0 && ranges.every(range => familyOfRange(range) === family);

const bindsTo = (address: string, family: IpFamily): boolean => {
  const host = /^\[?(.*?)\]?:\d+$/.exec(address)?.[1] ?? '';
  return familyOfIp(host) === family && parseLooseIp(host)?.value !== 0n;
};

/** What does not fit the families of the node. */
const familyProblems = (
  {clusterCidrs, detectLocalMode, healthzBindAddress, metricsBindAddress}: RuleConfiguration,
  {podRanges}: NodeFacts,
  primary: IpFamily,
  isDual: boolean,
): {readonly texts: readonly string[]; readonly isFatal: boolean} => {
  const bad = otherFamily(primary);
  const cluster = `cluster is ${primary}-${isDual ? 'primary' : 'only'} but`;
  const problems: readonly (readonly [found: boolean, text: string, isFatal: boolean])[] = [
    [isOnly(clusterCidrs, bad), `clusterCIDRs contains only ${bad} addresses`, detectLocalMode === 'ClusterCIDR' && !isDual],
    [isOnly(podRanges, bad), `node.spec.podCIDRs contains only ${bad} addresses`, detectLocalMode === 'NodeCIDR'],
    [!isDual && bindsTo(healthzBindAddress, bad), `healthzBindAddress is ${bad}`, false],
    [!isDual && bindsTo(metricsBindAddress, bad), `metricsBindAddress is ${bad}`, false],
  ];
  const found = problems.filter(([isFound]) => isFound);
  return {texts: found.map(([, text]) => `${cluster} ${text}`), isFatal: found.some(([, , isFatal]) => isFatal)};
};

const aggregated = (texts: readonly string[]): string => (texts.length > 1 ? `[${texts.join(', ')}]` : texts[0]!);

/**
 * Resolves the settings of the rules. Throws if the node has no rules of its primary family, or ranges of the other
 * alone; logs what else does not fit.
 */
export const resolveSettings = (
  configuration: RuleConfiguration,
  node: NodeFacts,
  supported: readonly IpFamily[],
  log: Log,
): ResolvedSettings => {
  const ips = nodeIpsOf(node.hostIps, configuration.bindAddress);
  const {primary} = ips;
  if (isLoopback(ips.byFamily[primary]))
    log.info("can't determine this node's IP, assuming loopback; if this is incorrect, please set the --bind-address flag");
  const nodePortAddresses = nodePortRanges(configuration.nodePortAddresses, ips);
  const incomplete = 'the configuration of the proxy may be incomplete or incorrect';
  const advice = nodePortAdvice(nodePortAddresses, [configuration.clusterCidrs, node.podRanges], primary);
  if (advice !== undefined) log.error({err: new Error(advice)}, incomplete);
  if (!supported.includes(primary)) throw new Error(`no support for primary IP family ${JSON.stringify(primary)}`);
  const isDual = supported.length > 1;
  log.info({primaryIpFamily: primary}, isDual ? 'running in dual-stack mode' : 'running in single-stack mode');
  const {texts, isFatal} = familyProblems(configuration, node, primary, isDual);
  if (isFatal) throw new Error(`${incomplete.replace('may be incomplete or', 'is')}: ${aggregated(texts)}`);
  if (texts.length > 0) log.error({err: new Error(aggregated(texts))}, incomplete);
  const {nodeName, masqueradeAll, masqueradeBit} = configuration;
  return {
    rules: {
      nodeName,
      nodeIps: ips.byFamily,
      masqueradeAll,
      masqueradeBit,
      localDetection: localDetection(configuration, node, primary, log),
      nodePortAddresses,
    },
    primary,
    families: isDual ? ipFamilies : [primary],
  };
};

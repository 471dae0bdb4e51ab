import type {CachedRequest} from '#controllers/shared/certificates/certificate-requests.js';
import {checkNodeServingRequest} from '#controllers/shared/certificates/node-certificates.js';
import {humanDuration} from '#src/api/duration.js';
import type {Frozen} from '#src/api/key.js';
import type {Node} from '#src/api/types.js';
import {wellKnown} from '#src/api/user.js';
import {globbed} from '#src/base/text/glob.js';
import {parseLooseIp, parseRange, rangeHolds, type IpAddress, type IpRange} from '#src/base/ip-address.js';
import type {SigningRequest} from '#src/pki/signing-request.js';

/** Which requests for serving certificates of nodes are approved. */
export interface ServingPolicy {
  /** One of them must match the name of the node. */
  readonly nodeNames: readonly RegExp[];
  /** Domains of DNS names; empty for all. */
  readonly dnsSuffixes: readonly string[];
  /** Ranges of addresses; empty for all. */
  readonly ranges: readonly IpRange[];
  /** The longest life that may be requested; 0 for no limit. */
  readonly maxDurationMs: number;
}

/** The options that a policy is made of. */
export interface ServingApprovalOptions {
  readonly nodeServingApprovalNodeNames: readonly string[];
  readonly nodeServingApprovalDnsSuffixes: readonly string[];
  readonly nodeServingApprovalCidrs: readonly string[];
  readonly nodeServingApprovalMaxDuration: number;
}

/** Returns the policy of the options, which have been validated. */
export const servingPolicy = (options: ServingApprovalOptions): ServingPolicy => ({
  nodeNames: options.nodeServingApprovalNodeNames.map(globbed),
  dnsSuffixes: options.nodeServingApprovalDnsSuffixes.map(suffix => suffix.replace(/^\*?\./, '').toLowerCase()),
  ranges: options.nodeServingApprovalCidrs.flatMap(cidr => parseRange(cidr) ?? []),
  maxDurationMs: options.nodeServingApprovalMaxDuration,
});

/** Returns the name of the node that a request is for, by its subject. */
export const nodeNameIn = ({subject: {commonName}}: SigningRequest): string => commonName.slice(wellKnown.nodeUserPrefix.length);

const isSame = (one: IpAddress | undefined, other: IpAddress | undefined): boolean =>
  one !== undefined && one.family === other?.family && one.value === other.value;

const dnsProblem = (name: string, node: Frozen<Node>, {dnsSuffixes}: ServingPolicy): string | undefined => {
  const own = name.toLowerCase();
  const known = (node.status?.addresses ?? []).filter(({type}) => !type.endsWith('IP')).map(({address}) => address.toLowerCase());
  if (!known.includes(own)) return `the DNS name ${JSON.stringify(name)} is no address of the node`;
  const isWithin = dnsSuffixes.length === 0 || dnsSuffixes.some(suffix => own === suffix || own.endsWith(`.${suffix}`));
  return isWithin ? undefined : `the DNS name ${JSON.stringify(name)} is in none of the domains ${dnsSuffixes.join(', ')}`;
};

const ipProblem = (text: string, node: Frozen<Node>, {ranges}: ServingPolicy): string | undefined => {
  const address = parseLooseIp(text);
  const known = (node.status?.addresses ?? []).filter(({type}) => type.endsWith('IP')).map(each => parseLooseIp(each.address));
  if (!known.some(each => isSame(each, address))) return `the IP address ${text} is no address of the node`;
  return ranges.length === 0 || ranges.some(range => rangeHolds(range, address!))
    ? undefined
    : `the IP address ${text} is in none of the ranges`;
};

/** Returns why a request is not approved, whatever the node's addresses are; undefined if nothing speaks against it. */
export const requestProblem = (csr: CachedRequest, request: SigningRequest, policy: ServingPolicy): string | undefined => {
  const {username, usages = [], expirationSeconds} = csr.spec;
  const problem = checkNodeServingRequest(request, usages);
  if (problem !== undefined) return problem;
  if (username !== request.subject.commonName) return 'the requester is not the node of the subject';
  if (!policy.nodeNames.some(pattern => pattern.test(nodeNameIn(request)))) return 'the name of the node matches no pattern';
  const {maxDurationMs: max} = policy;
  if (max > 0 && (expirationSeconds === undefined || expirationSeconds === null || expirationSeconds * 1000 > max))
    return `the requested life is longer than ${humanDuration(max)}`;
  return undefined;
};

/** Returns why the names and addresses of a request are not those of its node, or not allowed; undefined if all are. */
export const addressProblem = (request: SigningRequest, node: Frozen<Node> | undefined, policy: ServingPolicy): string | undefined => {
  if (!node) return 'the node does not exist';
  for (const name of request.dnsNames) {
    const problem = dnsProblem(name, node, policy);
    if (problem) return problem;
  }
  for (const address of request.ipAddresses) {
    const problem = ipProblem(address, node, policy);
    if (problem) return problem;
  }
  return undefined;
};

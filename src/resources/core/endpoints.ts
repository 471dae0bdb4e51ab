import {required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {dnsSubdomainProblems} from '#src/api/names.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type HookContext} from '#src/resources/definition.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {endpointIp, ipWarnings, legacyIp} from '#src/resources/validation/ip-fields.js';
import {isOwnService} from '#src/resources/validation/own-endpoints.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {dnsLabel, each, oneOf, portProblems, qualifiedName} from '#src/resources/validation/values.js';

type Endpoints = ObjectOf<typeof kinds.endpoints>;
type Subset = NonNullable<Endpoints['subsets']>[number];
type Address = NonNullable<Subset['addresses']>[number];
type Port = NonNullable<Subset['ports']>[number];

const protocols = ['SCTP', 'TCP', 'UDP'];

/** How strictly the addresses of an object are validated. */
interface AddressRules {
  readonly strict: boolean;
  readonly allowsLoopback: boolean;
}

function* validateAddress({ip, hostname, nodeName}: Readonly<Address>, path: string, rules: AddressRules): Iterable<FieldError> {
  yield* legacyIp(`${path}.ip`, ip ?? '', rules);
  if (hostname) yield* dnsLabel(`${path}.hostname`, hostname);
  if (nodeName !== undefined) yield* each(`${path}.nodeName`, nodeName, dnsSubdomainProblems(nodeName));
  yield* endpointIp(`${path}.ip`, ip ?? '', rules);
}

function* validatePort({name, port, protocol, appProtocol}: Readonly<Port>, path: string, needsName: boolean): Iterable<FieldError> {
  if (name) yield* dnsLabel(`${path}.name`, name);
  else if (needsName) yield required(`${path}.name`);
  yield* each(`${path}.port`, port ?? 0, portProblems(port ?? 0));
  if (!protocol) yield required(`${path}.protocol`);
  else yield* oneOf(`${path}.protocol`, protocol, protocols);
  if (appProtocol !== undefined) yield* qualifiedName(`${path}.appProtocol`, appProtocol);
}

function* validateSubset(
  {addresses = [], notReadyAddresses = [], ports = []}: Readonly<Subset>,
  path: string,
  rules: AddressRules,
): Iterable<FieldError> {
  if (addresses.length === 0 && notReadyAddresses.length === 0) yield required(path, 'must specify `addresses` or `notReadyAddresses`');
  for (const [i, address] of addresses.entries()) yield* validateAddress(address, `${path}.addresses[${i}]`, rules);
  for (const [i, address] of notReadyAddresses.entries()) yield* validateAddress(address, `${path}.notReadyAddresses[${i}]`, rules);
  for (const [i, port] of ports.entries()) yield* validatePort(port, `${path}.ports[${i}]`, ports.length > 1);
}

function* validate(endpoints: Readonly<Endpoints>, old: Readonly<Endpoints> | undefined, context: HookContext): Iterable<FieldError> {
  // Stored subsets may stay invalid.
  if (old && semanticallyEqual(old.subsets, endpoints.subsets)) return;
  const rules = {strict: context.gate('StrictIPCIDRValidation'), allowsLoopback: isOwnService(endpoints, context)};
  for (const [i, subset] of (endpoints.subsets ?? []).entries()) yield* validateSubset(subset, `subsets[${i}]`, rules);
}

function* warnings({metadata, subsets = []}: Readonly<Endpoints>, _old: unknown, {naming}: HookContext): Iterable<string> {
  // The controller writes canonical addresses only.
  if (metadata?.labels?.[naming.subKey('endpoints', 'managed-by')] === 'endpoint-controller') return;
  for (const [i, {addresses = [], notReadyAddresses = []}] of subsets.entries()) {
    for (const [j, {ip}] of addresses.entries()) yield* ipWarnings(`subsets[${i}].addresses[${j}].ip`, ip, naming);
    for (const [j, {ip}] of notReadyAddresses.entries()) yield* ipWarnings(`subsets[${i}].notReadyAddresses[${j}].ip`, ip, naming);
  }
}

/** How many endpoints a table shows. */
const shown = 3;

function* textsOf({addresses = [], ports = []}: Readonly<Subset>): Iterable<string> {
  if (ports.length === 0) for (const {ip} of addresses) yield ip;
  for (const {port} of ports) for (const {ip} of addresses) yield ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}

/**
 * Returns the first endpoints, and the number of the others: each address has each port, so that all of them may be
 * very many.
 */
const endpointsText = ({subsets = []}: Readonly<Endpoints>): string => {
  if (subsets.length === 0) return '<none>';
  let count = 0;
  const first: string[] = [];
  for (const subset of subsets) {
    const {addresses = [], ports = []} = subset;
    count += addresses.length * Math.max(ports.length, 1);
    if (first.length < shown) for (const text of textsOf(subset)) if (first.push(text) === shown) break;
  }
  return count > shown ? `${first.join(',')} + ${count - shown} more...` : first.join(',');
};

const writable = ['metadata', 'subsets'];

/** Endpoints: the addresses and ports of a service in one object. */
export const endpoints = defineResource<Endpoints>({
  kind: kinds.endpoints,
  discovery: {shortNames: ['ep']},
  // EndpointSlice holds more and changes less at a time.
  served: {deprecation: {since: 'v1.33', successor: kinds.endpointSlices}},
  storage: {path: 'services/endpoints'},
  metadata: {nameProblems: subdomainName},
  update: {createsMissing: true},
  default({subsets = []}) {
    for (const {ports = []} of subsets) for (const port of ports) port.protocol ||= 'TCP';
  },
  main: {metadata: 'both', writes: {create: writable, update: writable}, validate, warn: warnings},
  presentation: {columns: [nameColumn, {name: 'Endpoints', description: 'The endpoints that are ready.', of: endpointsText}, ageColumn]},
});

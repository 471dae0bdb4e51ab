import {sameContent} from '#src/api/equal.js';
import {duplicate, invalid, required, tooMany, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {dnsLabelProblems, dnsSubdomainProblems, labelValueProblems} from '#src/api/names.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type HookContext} from '#src/resources/definition.js';
import {familyOf} from '#src/resources/ip-family.js';
import {immutable, semanticallyEqual} from '#src/resources/validation/equality.js';
import {canonicalIpProblem, endpointIp, ipProblem, ipWarnings} from '#src/resources/validation/ip-fields.js';
import {isOwnService} from '#src/resources/validation/own-endpoints.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {dnsLabel, each, oneOf, qualifiedName} from '#src/resources/validation/values.js';

type EndpointSlice = ObjectOf<typeof kinds.endpointSlices>;
type Endpoint = EndpointSlice['endpoints'][number];
type Port = NonNullable<EndpointSlice['ports']>[number];

const addressTypes = ['FQDN', 'IPv4', 'IPv6'];
const protocols = ['SCTP', 'TCP', 'UDP'];
const [mostPorts, mostEndpoints, mostAddresses, mostHints] = [20_000, 1000, 100, 8];

function* validatePorts(ports: readonly Port[]): Iterable<FieldError> {
  if (ports.length > mostPorts) return yield tooMany('ports', ports.length, mostPorts);
  const names = new Set<string>();
  for (const [i, {name = '', protocol, appProtocol}] of ports.entries()) {
    const path = `ports[${i}]`;
    if (name) yield* dnsLabel(`${path}.name`, name);
    if (names.has(name)) yield duplicate(`${path}.name`, name);
    names.add(name);
    if (protocol === undefined) yield required(`${path}.protocol`);
    else yield* oneOf(`${path}.protocol`, protocol, protocols);
    if (appProtocol !== undefined) yield* qualifiedName(`${path}.appProtocol`, appProtocol);
  }
}

function* validateDomain(path: string, text: string): Iterable<FieldError> {
  if (!text) return yield required(path);
  const name = text.replace(/\.$/, '');
  const problems = dnsSubdomainProblems(name);
  if (problems.length > 0) return yield invalid(path, name, problems.join(','));
  const labels = name.split('.');
  if (labels.length < 2) return yield invalid(path, name, 'should be a domain with at least two segments separated by dots');
  for (const label of labels) {
    const wrong = dnsLabelProblems(label);
    if (wrong.length > 0) yield invalid(path, label, wrong.join(','));
  }
}

/** What the addresses of a slice must be. */
interface AddressRules {
  readonly type: string;
  readonly strict: boolean;
  readonly allowsLoopback: boolean;
}

function* validateAddress(path: string, index: number, address: string, rules: AddressRules): Iterable<FieldError> {
  const at = `${path}[${index}]`;
  const {type, strict} = rules;
  if (type === 'FQDN') return yield* validateDomain(at, address);
  if (type !== 'IPv4' && type !== 'IPv6') return;
  // IPv6 came late enough to have canonical addresses only.
  const problem = type === 'IPv6' ? canonicalIpProblem(address) : ipProblem(address, strict);
  if (problem !== undefined) return yield invalid(at, address, problem);
  if (familyOf(address) !== type) yield invalid(path, address, `must be an ${type} address`);
  yield* endpointIp(at, address, rules);
}

function* validateHints({forZones = [], forNodes = []}: NonNullable<Endpoint['hints']>, path: string): Iterable<FieldError> {
  for (const [field, hints, problems] of [
    ['forZones', forZones, labelValueProblems],
    ['forNodes', forNodes, dnsSubdomainProblems],
  ] as const) {
    if (hints.length > mostHints) return yield tooMany(`${path}.${field}`, hints.length, mostHints);
    for (const [i, {name}] of hints.entries()) {
      const at = `${path}.${field}[${i}].name`;
      if (hints.findIndex(hint => hint.name === name) < i) yield duplicate(at, name);
      yield* each(at, name, problems(name));
    }
  }
}

function* validateEndpoints(endpoints: readonly Endpoint[], rules: AddressRules): Iterable<FieldError> {
  if (endpoints.length > mostEndpoints) return yield tooMany('endpoints', endpoints.length, mostEndpoints);
  for (const [i, {addresses = [], nodeName, hostname, hints}] of endpoints.entries()) {
    const path = `endpoints[${i}]`;
    if (addresses.length === 0) yield required(`${path}.addresses`, 'must contain at least 1 address');
    else if (addresses.length > mostAddresses) yield tooMany(`${path}.addresses`, addresses.length, mostAddresses);
    for (const [j, address] of addresses.entries()) yield* validateAddress(`${path}.addresses`, j, address, rules);
    if (nodeName !== undefined) yield* each(`${path}.nodeName`, nodeName, dnsSubdomainProblems(nodeName));
    if (hostname !== undefined) yield* dnsLabel(`${path}.hostname`, hostname);
    if (hints) yield* validateHints(hints, `${path}.hints`);
  }
}

function* validate(slice: Readonly<EndpointSlice>, old: Readonly<EndpointSlice> | undefined, context: HookContext): Iterable<FieldError> {
  const {addressType = '', endpoints, ports} = slice;
  if (!addressType) yield required('addressType');
  else yield* oneOf('addressType', addressType, addressTypes);
  yield* validatePorts(ports ?? []);
  // Unchanged addresses are not validated again.
  if (!old || !semanticallyEqual(old.endpoints, endpoints))
    yield* validateEndpoints(endpoints ?? [], {
      type: addressType,
      strict: context.gate('StrictIPCIDRValidation'),
      allowsLoopback: isOwnService(slice, context),
    });
  if (old) yield* immutable('addressType', addressType, old.addressType);
}

const shown = 3;

const few = (texts: readonly string[]): string =>
  texts.length > shown ? `${texts.slice(0, shown).join(',')} + ${texts.length - shown} more...` : texts.join(',') || '<unset>';

const writable = ['metadata', 'addressType', 'endpoints', 'ports'];

/** EndpointSlice: up to a thousand endpoints of a service, of one address type. */
export const endpointSlices = defineResource<EndpointSlice>({
  kind: kinds.endpointSlices,
  storage: {alwaysPresent: {endpoints: null, ports: null}},
  metadata: {
    nameProblems: subdomainName,
    generation: (slice, old) =>
      !sameContent(old.metadata?.labels, slice.metadata?.labels) ||
      (['addressType', 'endpoints', 'ports'] as const).some(field => !semanticallyEqual(old[field], slice[field])),
    // Labels select the service, so a change of them counts as a change of the slice.
    generationCountsUnprepared: true,
  },
  default({ports}) {
    for (const port of ports ?? []) {
      port.name ??= '';
      port.protocol ??= 'TCP';
    }
  },
  main: {
    metadata: 'whole',
    writes: {create: writable, update: writable},
    prepare(slice, old) {
      // Only v1beta1 had topology labels of endpoints; nodeName and zone replaced them.
      if (!old || !semanticallyEqual(old.endpoints, slice.endpoints))
        for (const endpoint of slice.endpoints ?? []) delete endpoint.deprecatedTopology;
    },
    validate,
    *warn({metadata, addressType, endpoints}, old, {naming}) {
      if (addressType === 'FQDN' && !old) yield 'spec.addressType: FQDN endpoints are deprecated';
      const manager = metadata?.labels?.[naming.subKey('endpointslice', 'managed-by')];
      // The controllers write canonical addresses only.
      if (
        manager !== undefined &&
        ['endpointslice', 'endpointslicemirroring'].some(name => manager === `${name}-controller.${naming.apiSuffix}`)
      )
        return;
      for (const [i, {addresses = []}] of (endpoints ?? []).entries())
        for (const [j, address] of addresses.entries()) yield* ipWarnings(`endpoints[${i}].addresses[${j}]`, address, naming);
    },
  },
  presentation: {
    columns: [
      nameColumn,
      {name: 'AddressType', description: 'The family of the addresses.', of: ({addressType}) => addressType ?? ''},
      {
        name: 'Ports',
        description: 'The ports of every endpoint.',
        of: ({ports}) => few((ports ?? []).map(({port, name}) => (port === undefined ? (name ?? '*') : String(port)))),
      },
      {
        name: 'Endpoints',
        description: 'The addresses.',
        of: ({endpoints}) => few((endpoints ?? []).flatMap(({addresses}) => addresses ?? [])),
      },
      ageColumn,
    ],
  },
});

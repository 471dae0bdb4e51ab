import {kinds} from '#src/api/kinds/index.js';
import {testUpdates, testCreations, warnsOnCreation, type Given} from './rule-table.js';

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const label1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const labelValue =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const wildcard =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const immutable = 'field is immutable';

const to = (name: string, port: object = {number: 80}) => ({service: {name, port}});
const ingress = (spec: object): Given => ({spec: {defaultBackend: to('s'), ...spec}});
const relaxed = {on: ['RelaxedServiceNameValidation']};
const long = `*.${'a.'.repeat(126)}a`;

testCreations(kinds.ingresses, [
  [
    'a service that begins with a digit',
    ingress({defaultBackend: to('1s')}),
    [`spec.defaultBackend.service.name: Invalid value: "1s": ${label1035}`],
  ],
  ['a service that may begin with a digit', ingress({defaultBackend: to('1s')}), [], relaxed],
  [
    'a service without a name',
    ingress({defaultBackend: {service: {port: {number: 1, name: 'a'}}}}),
    ['spec.defaultBackend.service.name: Required value', 'spec.defaultBackend: Invalid value: "": cannot set both port name & port number'],
  ],
  [
    'odd ports',
    ingress({
      rules: [
        {
          http: {
            paths: [
              {pathType: 'Exact', path: '/', backend: to('s', {number: 65536})},
              {pathType: 'Exact', path: '/', backend: to('s', {name: 'A'})},
            ],
          },
        },
      ],
    }),
    [
      'spec.rules[0].http.paths[0].backend.service.port.number: Invalid value: 65536: must be between 1 and 65535, inclusive',
      'spec.rules[0].http.paths[1].backend.service.port.name: Invalid value: "A": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      'spec.rules[0].http.paths[1].backend.service.port.name: Invalid value: "A": must contain at least one letter (a-z)',
    ],
  ],
  [
    'an object without a name',
    ingress({defaultBackend: {resource: {}}}),
    ['spec.defaultBackend.resource.kind: Required value', 'spec.defaultBackend.resource.name: Required value'],
  ],
  [
    'a service and an object',
    ingress({defaultBackend: {...to('s'), resource: {kind: 'K', name: 'n'}}}),
    ['spec.defaultBackend: Invalid value: "": cannot set both resource and service backends'],
  ],
  [
    'paths that are none',
    ingress({
      rules: [
        {http: {}},
        {
          http: {
            paths: [
              {backend: to('s')},
              {pathType: 'ImplementationSpecific', path: 'a', backend: to('s')},
              {pathType: 'Prefix', backend: to('s')},
            ],
          },
        },
      ],
    }),
    [
      'spec.rules[0].http.paths: Required value',
      'spec.rules[1].http.paths[0].pathType: Required value: pathType must be specified',
      'spec.rules[1].http.paths[1].path: Invalid value: "a": must be an absolute path',
      'spec.rules[1].http.paths[2].path: Invalid value: "": must be an absolute path',
    ],
  ],
  [
    'hosts that are none',
    ingress({rules: [{host: 'a.*.b'}], tls: [{hosts: [long, '*.*.a']}]}),
    [
      `spec.rules[0].host: Invalid value: "a.*.b": ${wildcard}`,
      `spec.tls[0].hosts[0]: Invalid value: "${long}": must be no more than 253 characters`,
      `spec.tls[0].hosts[1]: Invalid value: "*.*.a": ${wildcard}`,
    ],
  ],
  [
    'two classes',
    {metadata: {annotations: {'plat.io/ingress.class': 'a'}}, ...ingress({ingressClassName: 'b'})},
    ['annotations.plat.io/ingress.class: Invalid value: "a": must match `ingressClassName` when both are specified'],
  ],
]);

testUpdates(kinds.ingresses, [
  ['two classes', {metadata: {annotations: {'plat.io/ingress.class': 'a'}}, ...ingress({})}, ingress({ingressClassName: 'b'}), []],
  [
    'where it is reached',
    ingress({}),
    {status: {loadBalancer: {ingress: [{ip: 'a'}, {hostname: '1.2.3.4'}, {hostname: 'A'}]}}},
    [
      'status.loadBalancer.ingress[0].ip: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'status.loadBalancer.ingress[1].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
      `status.loadBalancer.ingress[2].hostname: Invalid value: "A": ${subdomain}`,
    ],
    {subresource: 'status'},
  ],
]);

warnsOnCreation(kinds.ingresses, [
  [
    'a class of old',
    {metadata: {annotations: {'plat.io/ingress.class': 'a'}}, ...ingress({})},
    ['annotation "plat.io/ingress.class" is deprecated, please use \'spec.ingressClassName\' instead'],
  ],
  ['a class in annotation and spec', {metadata: {annotations: {'plat.io/ingress.class': 'a'}}, ...ingress({ingressClassName: 'a'})}, []],
]);

const policy = (spec: object): Given => ({spec: {podSelector: {}, ...spec}});
const odd = {matchExpressions: [{key: 'a', operator: 'In', values: ['@']}]};
const oddAt = (path: string) => `spec.${path}.matchExpressions[0].values[0]: Invalid value: "@": ${labelValue}`;

testCreations(kinds.networkPolicies, [
  [
    'odd pods',
    policy({podSelector: odd, ingress: [{from: [{podSelector: odd, namespaceSelector: odd}]}]}),
    [oddAt('podSelector'), oddAt('ingress[0].from[0].podSelector'), oddAt('ingress[0].from[0].namespaceSelector')],
  ],
  [
    'odd ports',
    policy({egress: [{ports: [{protocol: 'ICMP', port: 0}, {port: 'a_b'}, {port: 80, endPort: 65536}]}]}),
    [
      'spec.egress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"',
      'spec.egress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
      'spec.egress[0].ports[1].port: Invalid value: "a_b": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      'spec.egress[0].ports[2].endPort: Invalid value: 65536: must be between 1 and 65535, inclusive',
    ],
  ],
  [
    'peers that are none',
    policy({ingress: [{from: [{}, {ipBlock: {}}, {ipBlock: {cidr: '10.0.0.0/8', except: ['10.0.0.0/8']}}]}]}),
    [
      'spec.ingress[0].from[0]: Required value: must specify a peer',
      'spec.ingress[0].from[1].ipBlock.cidr: Required value',
      'spec.ingress[0].from[2].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
    ],
  ],
  [
    'too many types',
    policy({policyTypes: ['Ingress', 'Egress', 'Odd']}),
    ['spec.policyTypes: Invalid value: ["Ingress","Egress","Odd"]: may not specify more than two policyTypes'],
  ],
  [
    'ranges in forms of old',
    policy({ingress: [{from: [{ipBlock: {cidr: '10.0.0.1/8'}}]}]}),
    ['spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length'],
    {on: ['StrictIPCIDRValidation']},
  ],
]);

const refused = 'spec.policyTypes[0]: Unsupported value: "Odd": supported values: "Ingress", "Egress"';
testUpdates(kinds.networkPolicies, [['no known type', policy({}), policy({policyTypes: ['Odd']}), [refused, refused]]]);

warnsOnCreation(kinds.networkPolicies, [
  [
    'a range that may be meant otherwise',
    policy({egress: [{to: [{ipBlock: {cidr: '10.0.0.1/8', except: ['10.01.0.0/16']}}]}]}),
    [
      'spec.egress[0].to[0].ipBlock.cidr: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
      'spec.egress[0].to[0].ipBlock.except[0]: non-standard CIDR value "10.01.0.0/16" will be considered invalid in a future Plat release: use "10.1.0.0/16"',
    ],
  ],
]);

testCreations(kinds.ingressClasses, [
  [
    'a long controller',
    {spec: {controller: `example.com/${'a'.repeat(239)}`}},
    ['spec.controller: Too long: may not be more than 250 bytes'],
  ],
  [
    'parameters of nothing',
    {spec: {controller: 'a.b/c', parameters: {apiGroup: 'A', scope: 'Odd'}}},
    [
      `spec.parameters.apiGroup: Invalid value: "A": ${subdomain}`,
      'spec.parameters.kind: Required value',
      'spec.parameters.name: Required value',
      'spec.parameters.scope: Unsupported value: "Odd": supported values: "Cluster", "Namespace"',
    ],
  ],
  [
    'parameters of a namespace though of none',
    {spec: {controller: 'a.b/c', parameters: {kind: 'K', name: 'n', namespace: 'n'}}},
    ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
  ],
]);

const slice = (more: object): Given => ({addressType: 'IPv4', endpoints: [{addresses: ['10.1.2.3']}], ...more});
const reached = (addressType: string, ...addresses: string[]): Given => ({addressType, endpoints: [{addresses}]});

testCreations(kinds.endpointSlices, [
  [
    'addresses of the other family',
    reached('IPv6', '10.1.2.3'),
    ['endpoints[0].addresses: Invalid value: "10.1.2.3": must be an IPv6 address'],
  ],
  [
    'addresses in another form',
    reached('IPv6', 'FD00::1', '::ffff:1.2.3.4', 'a'),
    [
      'endpoints[0].addresses[0]: Invalid value: "FD00::1": must be in canonical form ("fd00::1")',
      'endpoints[0].addresses[1]: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address',
      'endpoints[0].addresses[2]: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
  ],
  ['addresses with leading zeros', reached('IPv4', '010.0.0.1'), []],
  [
    'addresses with leading zeros where rules are strict',
    reached('IPv4', '010.0.0.1'),
    ['endpoints[0].addresses[0]: Invalid value: "010.0.0.1": must not have leading 0s'],
    {on: ['StrictIPCIDRValidation']},
  ],
  [
    'addresses that mean something else elsewhere',
    reached('IPv4', '0.0.0.0', '169.254.0.1', '224.0.0.1'),
    [
      'endpoints[0].addresses[0]: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
      'endpoints[0].addresses[1]: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
      'endpoints[0].addresses[2]: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)',
    ],
  ],
  [
    'too many addresses',
    reached('FQDN', ...Array.from({length: 101}, (_, i) => `a.n${i}`)),
    ['endpoints[0].addresses: Too many: 101: must have at most 100 items'],
  ],
  [
    'odd ports',
    slice({ports: [{name: 'A', protocol: 'ICMP', appProtocol: '@'}]}),
    [
      `ports[0].name: Invalid value: "A": ${label}`,
      'ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
      "ports[0].appProtocol: Invalid value: \"@\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ],
  [
    'odd hints',
    slice({
      endpoints: [
        {
          addresses: ['10.1.2.3'],
          hostname: 'A',
          hints: {forZones: [{name: 'a'}, {name: 'a'}, {name: '@'}], forNodes: Array.from({length: 9}, (_, i) => ({name: `n${i}`}))},
        },
      ],
    }),
    [
      `endpoints[0].hostname: Invalid value: "A": ${label}`,
      'endpoints[0].hints.forZones[1].name: Duplicate value: "a"',
      `endpoints[0].hints.forZones[2].name: Invalid value: "@": ${labelValue}`,
      'endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items',
    ],
  ],
  [
    'a hint at no node',
    slice({endpoints: [{addresses: ['10.1.2.3'], hints: {forNodes: [null]}}]}),
    [`endpoints[0].hints.forNodes[0].name: Invalid value: "": ${subdomain}`],
  ],
]);

const manager = (name: string) => ({metadata: {labels: {'endpointslice.plat.io/managed-by': name}}});
const ofOld = (address: string) =>
  `endpoints[0].addresses[0]: non-standard IP address "${address}" will be considered invalid in a future Plat release: use "10.0.0.1"`;
warnsOnCreation(kinds.endpointSlices, [
  ['names instead of addresses', reached('FQDN', 'a.b'), ['spec.addressType: FQDN endpoints are deprecated']],
  ['an address of old', {...manager('somebody'), ...reached('IPv4', '010.0.0.1')}, [ofOld('010.0.0.1')]],
  ['what the controller writes', {...manager('endpointslice-controller.plat.io'), ...reached('IPv4', '010.0.0.1')}, []],
]);

const several = (...cidrs: string[]): Given => ({spec: {cidrs}});
testCreations(kinds.serviceCIDRs, [
  [
    'three ranges',
    several('10.0.0.0/8', 'fd00::/64', 'fd01::/64'),
    ['spec.cidrs: Invalid value: {"CIDRs":["10.0.0.0/8","fd00::/64","fd01::/64"]}: may only hold up to 2 values'],
  ],
  [
    'a range that is none beside another',
    several('10.0.0.0/8', 'x'),
    ['spec.cidrs[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
  ],
]);
testUpdates(kinds.serviceCIDRs, [
  ['a second family', several('10.0.0.0/8'), several('10.0.0.0/8', 'fd00::/64'), []],
  [
    'a second range of its family',
    several('10.0.0.0/8'),
    several('10.0.0.0/8', '11.0.0.0/8'),
    [
      'spec.cidrs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
    ],
  ],
  [
    'another range and a second',
    several('10.0.0.0/8'),
    several('11.0.0.0/8', 'fd00::/64'),
    [`spec.cidrs[0]: Invalid value: "11.0.0.0/8": ${immutable}`],
  ],
  [
    'other ranges',
    several('10.0.0.0/8', 'fd00::/64'),
    several('11.0.0.0/8', 'fd01::/64'),
    [`spec.cidrs[0]: Invalid value: "11.0.0.0/8": ${immutable}`, `spec.cidrs[1]: Invalid value: "fd01::/64": ${immutable}`],
  ],
  ['fewer ranges', several('10.0.0.0/8', 'fd00::/64'), several('10.0.0.0/8'), [`spec.cidrs: Invalid value: ["10.0.0.0/8"]: ${immutable}`]],
]);

testCreations(kinds.ipAddresses, [
  ['an address without a parent', {metadata: {name: '10.9.0.1'}}, ['spec.parentRef: Required value']],
  [
    'an address in a form of old',
    {metadata: {name: '10.9.0.01'}, spec: {parentRef: {resource: 'r', name: 'n'}}},
    ['metadata.name: Invalid value: "10.9.0.01": must not have leading 0s'],
  ],
  [
    'an address of a parent without a place',
    {metadata: {name: '10.9.0.2'}, spec: {parentRef: {group: 'A', namespace: '..'}}},
    [
      `spec.parentRef.group: Invalid value: "A": ${subdomain}`,
      'spec.parentRef.resource: Required value',
      'spec.parentRef.name: Required value',
      'spec.parentRef.namespace: Invalid value: "..": may not be \'..\'',
    ],
  ],
]);

const subset = (...addresses: object[]): Given => ({subsets: [{addresses}]});
testCreations(kinds.endpoints, [
  [
    'a trigger that is no time',
    {metadata: {annotations: {'endpoints.plat.io/last-change-trigger-time': 'x'}}, ...subset({ip: '10.0.0.1'})},
    [],
  ],
  [
    'an address that is none',
    subset({ip: 'x', hostname: 'A'}),
    [
      'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      `subsets[0].addresses[0].hostname: Invalid value: "A": ${label}`,
      'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address',
    ],
  ],
  [
    'several ports without names',
    {subsets: [{addresses: [{ip: '10.0.0.1'}], ports: [{port: 1}, {port: 0, name: 'b'}]}]},
    ['subsets[0].ports[0].name: Required value', 'subsets[0].ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive'],
  ],
]);

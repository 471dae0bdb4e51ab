import test from 'ava';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {problems, startEnvironment} from './environment.js';

const namespace = 'default';

type Ingress = ObjectOf<typeof kinds.ingresses>;
type Policy = ObjectOf<typeof kinds.networkPolicies>;
type Slice = ObjectOf<typeof kinds.endpointSlices>;

const backend = {service: {name: 's', port: {number: 80}}};
const anIngress = (spec: Ingress['spec']): Ingress => ({metadata: {name: 'i', namespace}, spec: spec!});
const path = (more: object) => anIngress({rules: [{http: {paths: [{path: '/', pathType: 'Prefix', backend, ...more}]}}]});
const at = 'spec.rules[0].http.paths[0]';

const ingressCases: [title: string, ingress: Ingress, expected: string[]][] = [
  ['leads somewhere', anIngress({}), ['spec: Invalid value: null: either `defaultBackend` or `rules` must be specified']],
  [
    'is for names, not addresses',
    anIngress({rules: [{host: '1.2.3.4'}]}),
    ['spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address'],
  ],
  ['has absolute paths', path({path: 'x'}), [`${at}.path: Invalid value: "x": must be an absolute path`]],
  [
    'has plain paths',
    path({path: '/a/../b//c/..'}),
    [
      `${at}.path: Invalid value: "/a/../b//c/..": must not contain '//'`,
      `${at}.path: Invalid value: "/a/../b//c/..": must not contain '/../'`,
      `${at}.path: Invalid value: "/a/../b//c/..": cannot end with '/..'`,
    ],
  ],
  [
    'compares paths in a known way',
    path({pathType: 'Odd'}),
    [`${at}.pathType: Unsupported value: "Odd": supported values: "Exact", "ImplementationSpecific", "Prefix"`],
  ],
  [
    'compares paths somehow',
    path({pathType: ''}),
    [`${at}.pathType: Unsupported value: "": supported values: "Exact", "ImplementationSpecific", "Prefix"`],
  ],
  ['names a port', path({backend: {service: {name: 's'}}}), [`${at}.backend: Required value: port name or number is required`]],
  ['leads to one thing', path({backend: {}}), [`${at}.backend: Invalid value: "": resource or service backend is required`]],
  [
    'names its secrets well',
    anIngress({defaultBackend: backend, tls: [{secretName: 'A'}]}),
    [
      "spec.tls[0].secretName: Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    ],
  ],
];

for (const [title, ingress, expected] of ingressCases) {
  test(`an ingress ${title}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.ingresses).create(ingress)), expected);
  });
}

test('the table of ingresses shows few of many hosts', async t => {
  const {row} = await startEnvironment();
  const rules = ['a', 'b', 'c', 'd', 'e'].map(host => ({host}));

  t.deepEqual(
    await row(kinds.ingresses, {...anIngress({rules, tls: [{}]}), status: {loadBalancer: {ingress: [{ip: '9.9.9.9'}, {hostname: 'x.y'}]}}}),
    {
      Name: 'i',
      Class: '<none>',
      Hosts: 'a,b,c + 2 more...',
      Address: '9.9.9.9,x.y',
      Ports: '80, 443',
      Age: '<unknown>',
    },
  );
});

const aPolicy = (spec: Partial<NonNullable<Policy['spec']>>): Policy => ({
  metadata: {name: 'p', namespace},
  spec: {podSelector: {}, ...spec},
});

test('a policy applies to ingress, and to egress if it has such rules', async t => {
  const {of, row} = await startEnvironment();
  const made = await of(kinds.networkPolicies).create(aPolicy({podSelector: {matchLabels: {a: 'b'}}, egress: [{ports: [{port: 53}]}]}));

  t.deepEqual(made.spec?.policyTypes, ['Ingress', 'Egress']);
  t.is(made.spec?.egress?.[0]?.ports?.[0]?.protocol, 'TCP');
  t.is(made.metadata?.generation, 1);
  t.is((await row(kinds.networkPolicies, made))['Pod-Selector'], 'a=b');
});

const policyCases: [title: string, policy: Policy, expected: string[]][] = [
  ['names peers', aPolicy({ingress: [{from: [{}]}]}), ['spec.ingress[0].from[0]: Required value: must specify a peer']],
  [
    'does not mix blocks with others',
    aPolicy({ingress: [{from: [{podSelector: {}, ipBlock: {cidr: '10.0.0.0/8'}}]}]}),
    ['spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer'],
  ],
  [
    'excepts parts',
    aPolicy({egress: [{to: [{ipBlock: {cidr: '10.0.0.0/8', except: ['11.0.0.0/16', 'x']}}]}]}),
    [
      'spec.egress[0].to[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
      'spec.egress[0].to[0].ipBlock.except[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
  ],
  [
    'has ranges of ports by number',
    aPolicy({ingress: [{ports: [{port: 'http', endPort: 90}, {port: 80, endPort: 70}, {endPort: 1}]}]}),
    [
      'spec.ingress[0].ports[0].endPort: Invalid value: 90: may not be specified when `port` is non-numeric',
      'spec.ingress[0].ports[1].endPort: Invalid value: 80: must be greater than or equal to `port`',
      'spec.ingress[0].ports[2].endPort: Invalid value: 1: may not be specified when `port` is not specified',
    ],
  ],
  [
    'has known types',
    aPolicy({policyTypes: ['Odd']}),
    ['spec.policyTypes[0]: Unsupported value: "Odd": supported values: "Ingress", "Egress"'],
  ],
];

for (const [title, policy, expected] of policyCases) {
  test(`a policy ${title}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.networkPolicies).create(policy)), expected);
  });
}

test('an ingress class keeps its controller, and names the scope of its parameters', async t => {
  const {of, row} = await startEnvironment();
  const classes = of(kinds.ingressClasses);
  const made = await classes.create({
    metadata: {name: 'c'},
    spec: {controller: 'example.com/c', parameters: {apiGroup: 'example.com', kind: 'Set', name: 's'}},
  });

  t.is(made.spec?.parameters?.scope, 'Cluster');
  t.is((await row(kinds.ingressClasses, made))['Parameters'], 'Set.example.com/s');
  t.deepEqual(await problems(classes.update({...made, spec: {...made.spec, controller: 'example.com/d'}})), [
    'spec.controller: Invalid value: "example.com/d": field is immutable',
  ]);
  t.deepEqual(
    await problems(
      classes.create({metadata: {name: 'd'}, spec: {controller: 'x', parameters: {kind: 'Set', name: 's', scope: 'Namespace'}}}),
    ),
    [
      'spec.controller: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")',
      "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
    ],
  );
});

test('an address is called by itself and stays with its parent', async t => {
  const {of, row} = await startEnvironment();
  const parentRef = {resource: 'services', namespace, name: 's'};
  const made = await of(kinds.ipAddresses).create({metadata: {name: 'fd00::7'}, spec: {parentRef}});

  t.deepEqual(await row(kinds.ipAddresses, made), {Name: 'fd00::7', ParentRef: 'services/default/s', Age: '0s'});
  t.deepEqual(await problems(of(kinds.ipAddresses).update({...made, spec: {parentRef: {...parentRef, name: 'other'}}})), [
    'spec.parentRef: Invalid value: {"Group":"","Resource":"services","Namespace":"default","Name":"other"}: field is immutable',
  ]);
  t.deepEqual(await problems(of(kinds.ipAddresses).create({metadata: {name: 'FD00::8'}, spec: {parentRef}})), [
    'metadata.name: Invalid value: "FD00::8": must be in canonical form ("fd00::8")',
  ]);
  t.is((await of(kinds.ipAddresses).list({fieldSelector: 'spec.parentRef.name=s'})).items.length, 1);
});

const rangeCases: [cidrs: string[], expected: string[]][] = [
  [[], ['spec.cidrs: Required value: at least one CIDR required']],
  [
    ['10.0.0.0/8', '11.0.0.0/8'],
    [
      'spec.cidrs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
    ],
  ],
  [['10.0.0.1/8'], ['spec.cidrs[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length']],
  [['FD00::/64'], ['spec.cidrs[0]: Invalid value: "FD00::/64": must be in canonical form ("fd00::/64")']],
];

for (const [cidrs, expected] of rangeCases) {
  test(`ranges of services are not ${cidrs.join(' and ') || 'none'}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.serviceCIDRs).create({metadata: {name: 'r'}, spec: {cidrs}})), expected);
  });
}

const aSlice = (more: Partial<Slice> = {}): Slice => ({
  metadata: {name: 'e', namespace},
  addressType: 'IPv4',
  endpoints: [{addresses: ['10.1.2.3']}],
  ...more,
});

const sliceCases: [title: string, slice: Slice, expected: string[]][] = [
  ['has a known type', aSlice({addressType: 'Odd'}), ['addressType: Unsupported value: "Odd": supported values: "FQDN", "IPv4", "IPv6"']],
  [
    'has addresses of its family',
    aSlice({endpoints: [{addresses: ['fd00::1']}]}),
    ['endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address'],
  ],
  [
    'has addresses that mean one machine',
    aSlice({endpoints: [{addresses: ['127.0.0.1']}]}),
    ['endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  ],
  [
    'has addresses at all',
    aSlice({endpoints: [{addresses: []}]}),
    ['endpoints[0].addresses: Required value: must contain at least 1 address'],
  ],
  ['names its ports once', aSlice({ports: [{port: 1}, {port: 2}]}), ['ports[1].name: Duplicate value: ""']],
  [
    'has whole names',
    aSlice({addressType: 'FQDN', endpoints: [{addresses: ['host']}]}),
    ['endpoints[0].addresses[0]: Invalid value: "host": should be a domain with at least two segments separated by dots'],
  ],
];

for (const [title, slice, expected] of sliceCases) {
  test(`a slice ${title}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.endpointSlices).create(slice)), expected);
  });
}

test('a slice counts changes of its endpoints and labels, not of its annotations', async t => {
  const {of} = await startEnvironment();
  const slices = of(kinds.endpointSlices);
  const made = await slices.create(aSlice());
  const annotated = await slices.update({...made, metadata: {...made.metadata, annotations: {a: 'b'}}});
  const labelled = await slices.update({...annotated, metadata: {...annotated.metadata, labels: {a: 'b'}}});
  const moved = await slices.update({...labelled, endpoints: [{addresses: ['10.1.2.4']}]});

  t.deepEqual(
    [made, annotated, labelled, moved].map(({metadata}) => metadata?.generation),
    [1, 1, 2, 3],
  );
  t.deepEqual(await problems(slices.update({...moved, addressType: 'FQDN', endpoints: []})), [
    'addressType: Invalid value: "FQDN": field is immutable',
  ]);
});

test('endpoints show as addresses with ports', async t => {
  const {row, of} = await startEnvironment();
  const subsets = [
    {
      addresses: [{ip: '10.0.0.1'}, {ip: 'fd00::1'}],
      ports: [
        {port: 80, protocol: 'TCP'},
        {port: 81, protocol: 'TCP'},
      ],
    },
  ];

  t.is((await row(kinds.endpoints, {subsets}))['Endpoints'], '10.0.0.1:80,[fd00::1]:80,10.0.0.1:81 + 1 more...');
  t.deepEqual(await problems(of(kinds.endpoints).create({metadata: {name: 'e', namespace}, subsets: [{}]})), [
    'subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`',
  ]);
});

test('a table shows the first endpoints of many addresses with many ports, without listing all of them', async t => {
  const {row} = await startEnvironment();
  const addresses = Array.from({length: 8_000}, (_, index) => ({ip: `10.0.${index >> 8}.${index & 255}`}));
  const ports = Array.from({length: 8_000}, (_, index) => ({name: `p-${index}`, port: index + 1}));

  const shown = (await row(kinds.endpoints, {subsets: [{addresses, ports}]}))['Endpoints'];

  t.is(shown, '10.0.0.0:1,10.0.0.1:1,10.0.0.2:1 + 63999997 more...');
});

test('the name of an address is the given prefix itself', async t => {
  const {of} = await startEnvironment();
  const spec = {parentRef: {resource: 'services', namespace, name: 's'}};
  const made = await of(kinds.ipAddresses).create({metadata: {generateName: '10.0.0.9'}, spec});

  t.is(made.metadata?.name, '10.0.0.9');
  t.deepEqual(await problems(of(kinds.ipAddresses).create({metadata: {generateName: 'x-'}, spec})), [
    'metadata.generateName: Invalid value: "x-": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    'metadata.name: Invalid value: "x-": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ]);
});

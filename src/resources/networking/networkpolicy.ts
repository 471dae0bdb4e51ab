import {emptiedWithin} from '#src/schema/emptied.js';
import {forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {labelSelectorOf, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import {parseRange, rangeHolds} from '#src/base/ip-address.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type HookContext} from '#src/resources/definition.js';
import {legacyRange, rangeWarnings} from '#src/resources/validation/ip-fields.js';
import {hasInvalidValues, validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {each, portNameProblems, portProblems} from '#src/resources/validation/values.js';

type NetworkPolicy = ObjectOf<typeof kinds.networkPolicies>;
type Spec = Readonly<NonNullable<NetworkPolicy['spec']>>;
type Rule = NonNullable<Spec['ingress']>[number];
type Port = NonNullable<Rule['ports']>[number];
type Peer = NonNullable<Rule['from']>[number];
type Block = NonNullable<Peer['ipBlock']>;

const policyTypes = ['Ingress', 'Egress'];
const protocols = ['TCP', 'UDP', 'SCTP'];

function* validatePort({protocol, port, endPort}: Readonly<Port>, path: string): Iterable<FieldError> {
  if (protocol !== undefined && !protocols.includes(protocol)) yield notSupported(`${path}.protocol`, protocol, protocols);
  if (typeof port === 'number') {
    yield* each(`${path}.port`, port, portProblems(port));
    if (endPort === undefined) return;
    if (endPort < port) yield invalid(`${path}.endPort`, port, 'must be greater than or equal to `port`');
    yield* each(`${path}.endPort`, endPort, portProblems(endPort));
    return;
  }
  if (endPort !== undefined)
    yield invalid(
      `${path}.endPort`,
      endPort,
      `may not be specified when \`port\` is ${port === undefined ? 'not specified' : 'non-numeric'}`,
    );
  if (port !== undefined) yield* each(`${path}.port`, port, portNameProblems(String(port)));
}

interface Rules {
  readonly strict: boolean;
  /** Ranges of the stored policy, which may stay. */
  readonly stored: readonly string[];
  /** Accepts invalid label values in selectors. */
  readonly anyValue: boolean;
}

function* validateBlock({cidr, except = []}: Readonly<Block>, path: string, {strict, stored}: Rules): Iterable<FieldError> {
  if (!cidr) return yield required(`${path}.cidr`);
  yield* legacyRange(`${path}.cidr`, cidr, {strict, stored});
  const range = parseRange(cidr, true);
  if (!range) return;
  for (const [i, text] of except.entries()) {
    const at = `${path}.except[${i}]`;
    yield* legacyRange(at, text, {strict, stored});
    const inner = parseRange(text, true);
    if (inner && (!rangeHolds(range, inner.address) || inner.bits <= range.bits))
      yield invalid(at, text, 'must be a strict subset of `cidr`');
  }
}

function* validatePeer({podSelector, namespaceSelector, ipBlock}: Readonly<Peer>, path: string, rules: Rules): Iterable<FieldError> {
  if (podSelector) yield* validateLabelSelector(podSelector as LabelSelectorObject, `${path}.podSelector`, rules.anyValue);
  if (namespaceSelector)
    yield* validateLabelSelector(namespaceSelector as LabelSelectorObject, `${path}.namespaceSelector`, rules.anyValue);
  if (ipBlock) yield* validateBlock(ipBlock, `${path}.ipBlock`, rules);
  if (!podSelector && !namespaceSelector && !ipBlock) yield required(path, 'must specify a peer');
  else if (ipBlock && (podSelector || namespaceSelector)) yield forbiddenField(path, 'may not specify both ipBlock and another peer');
}

const blocks = ({spec}: Readonly<NetworkPolicy>): [path: string, block: Block][] => [
  ...(spec?.ingress ?? []).flatMap(({from = []}, i) =>
    from.flatMap(({ipBlock}, j): [string, Block][] => (ipBlock ? [[`spec.ingress[${i}].from[${j}].ipBlock`, ipBlock]] : [])),
  ),
  ...(spec?.egress ?? []).flatMap(({to = []}, i) =>
    to.flatMap(({ipBlock}, j): [string, Block][] => (ipBlock ? [[`spec.egress[${i}].to[${j}].ipBlock`, ipBlock]] : [])),
  ),
];

const rangesOf = (policy: Readonly<NetworkPolicy>): string[] => blocks(policy).flatMap(([, {cidr, except = []}]) => [cidr, ...except]);

function* validateSpec(spec: Spec, rules: Rules): Iterable<FieldError> {
  yield* validateLabelSelector((spec.podSelector ?? {}) as LabelSelectorObject, 'spec.podSelector', rules.anyValue);
  for (const [i, {ports = [], from = []}] of (spec.ingress ?? []).entries()) {
    for (const [j, port] of ports.entries()) yield* validatePort(port, `spec.ingress[${i}].ports[${j}]`);
    for (const [j, peer] of from.entries()) yield* validatePeer(peer, `spec.ingress[${i}].from[${j}]`, rules);
  }
  for (const [i, {ports = [], to = []}] of (spec.egress ?? []).entries()) {
    for (const [j, port] of ports.entries()) yield* validatePort(port, `spec.egress[${i}].ports[${j}]`);
    for (const [j, peer] of to.entries()) yield* validatePeer(peer, `spec.egress[${i}].to[${j}]`, rules);
  }
  const types = spec.policyTypes ?? [];
  if (types.length > policyTypes.length) return yield invalid('spec.policyTypes', types, 'may not specify more than two policyTypes');
  for (const [i, type] of types.entries()) if (!policyTypes.includes(type)) yield notSupported(`spec.policyTypes[${i}]`, type, policyTypes);
}

function* validate(
  {spec = {} as Spec}: Readonly<NetworkPolicy>,
  old: Readonly<NetworkPolicy> | undefined,
  {gate}: HookContext,
): Iterable<FieldError> {
  const rules = {
    strict: gate('StrictIPCIDRValidation'),
    stored: [],
    anyValue: hasInvalidValues(old?.spec?.podSelector as LabelSelectorObject | undefined),
  };
  yield* validateSpec(spec, rules);
  // The original validates an update twice, and only the second time stored ranges may stay.
  if (old) yield* validateSpec(spec, {...rules, stored: rangesOf(old)});
}

function* warnings(policy: Readonly<NetworkPolicy>, _old: unknown, {naming}: HookContext): Iterable<string> {
  for (const [path, {cidr, except = []}] of blocks(policy)) {
    yield* rangeWarnings(`${path}.cidr`, cidr, naming);
    for (const [i, text] of except.entries()) yield* rangeWarnings(`${path}.except[${i}]`, text, naming);
  }
}

/** Formats a selector in one line. */
const selectorText = (selector: LabelSelectorObject | undefined): string => {
  try {
    return (selector && labelSelectorOf(selector).toString()) || '<none>';
  } catch {
    return '<error>';
  }
};

/**
 * NetworkPolicy: the peers that selected pods may communicate with. Pods that no policy selects may communicate with
 * all.
 */
export const networkPolicies = defineResource<NetworkPolicy>({
  kind: kinds.networkPolicies,
  discovery: {shortNames: ['netpol']},
  metadata: {
    nameProblems: subdomainName,
    generation: true,
    // The original compares the spec as it was sent, with default policy types.
    generationCountsEmptied({spec}) {
      for (const fields of emptiedWithin(spec)) for (const field of fields.keys()) if (field !== 'policyTypes') return true;
      return false;
    },
  },
  default(policy) {
    const spec = (policy.spec ??= {} as NonNullable<NetworkPolicy['spec']>);
    spec.podSelector ??= {};
    for (const {ports = []} of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) for (const port of ports) port.protocol ??= 'TCP';
    if ((spec.policyTypes ?? []).length === 0) spec.policyTypes = ['Ingress', ...((spec.egress ?? []).length > 0 ? ['Egress'] : [])];
  },
  main: {metadata: 'both', writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}, validate, warn: warnings},
  presentation: {
    columns: [
      nameColumn,
      {
        name: 'Pod-Selector',
        description: 'The pods the policy is about.',
        of: ({spec}) => selectorText(spec?.podSelector as LabelSelectorObject),
      },
      ageColumn,
    ],
  },
});

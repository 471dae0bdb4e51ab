import {parseLooseIp} from '#src/base/ip-address.js';
import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {isWrong} from '#src/api/collect-errors.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {dnsLabel1035Problems, dnsLabelProblems, dnsSubdomainProblems, patternText, tooLongText} from '#src/api/names.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {balancerText} from '#src/resources/core/service/definition.js';
import {balancerHostname} from '#src/resources/core/service/validation.js';
import {defineResource, type HookContext} from '#src/resources/definition.js';
import {ipWarnings, legacyIp} from '#src/resources/validation/ip-fields.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {internalList} from '#src/schema/error-texts/internal-form.js';
import {dnsSubdomain, each, oneOf, portNameProblems, portProblems} from '#src/resources/validation/values.js';
import {validateLocalReference} from './ingressclass.js';

type Ingress = ObjectOf<typeof kinds.ingresses>;
type Spec = Readonly<NonNullable<Ingress['spec']>>;
type Rule = NonNullable<Spec['rules']>[number];
type Path = NonNullable<Rule['http']>['paths'][number];
type Backend = Path['backend'];

const wildcard = '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';
const isWildcard = new RegExp(`^${wildcard}$`);
const wildcardText = patternText(
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  wildcard,
  '*.example.com',
);
const longestHost = 253;
const pathTypes = ['Exact', 'ImplementationSpecific', 'Prefix'];
const refusedParts = ['//', '/./', '/../', '%2f', '%2F'];
const refusedEnds = ['/..', '/.'];

const hostProblems = (host: string): readonly string[] => {
  if (!host.includes('*')) return dnsSubdomainProblems(host);
  return [...(host.length > longestHost ? [tooLongText(longestHost)] : []), ...(isWildcard.test(host) ? [] : [wildcardText])];
};

type NameProblems = (name: string) => readonly string[];

function* validateService(
  {name, port = {}}: NonNullable<Backend['service']>,
  path: string,
  nameProblems: NameProblems,
): Iterable<FieldError> {
  const at = `${path}.service`;
  if (!name) yield required(`${at}.name`);
  else yield* each(`${at}.name`, name, nameProblems(name));
  if (port.name && port.number) yield invalid(path, '', 'cannot set both port name & port number');
  else if (port.name) yield* each(`${at}.port.name`, port.name, portNameProblems(port.name));
  else if (port.number) yield* each(`${at}.port.number`, port.number, portProblems(port.number));
  else yield required(path, 'port name or number is required');
}

function* validateBackend({service, resource}: Readonly<Backend>, path: string, nameProblems: NameProblems): Iterable<FieldError> {
  if (service && resource) yield invalid(path, '', 'cannot set both resource and service backends');
  else if (resource) yield* validateLocalReference(resource, `${path}.resource`);
  else if (service) yield* validateService(service, path, nameProblems);
  else yield invalid(path, '', 'resource or service backend is required');
}

function* validatePath({path = '', pathType, backend}: Readonly<Path>, at: string, nameProblems: NameProblems): Iterable<FieldError> {
  if (pathType === undefined || pathType === null) return yield required(`${at}.pathType`, 'pathType must be specified');
  yield* oneOf(`${at}.pathType`, pathType, pathTypes);
  const exact = pathType === 'Exact' || pathType === 'Prefix';
  if (pathTypes.includes(pathType) && (exact || path) && !path.startsWith('/'))
    yield invalid(`${at}.path`, path, 'must be an absolute path');
  if (exact) {
    for (const part of refusedParts) if (path.includes(part)) yield invalid(`${at}.path`, path, `must not contain '${part}'`);
    for (const end of refusedEnds) if (path.endsWith(end)) yield invalid(`${at}.path`, path, `cannot end with '${end}'`);
  }
  yield* validateBackend(backend ?? {}, `${at}.backend`, nameProblems);
}

function* validateHttp({http}: Readonly<Rule>, path: string, nameProblems: NameProblems): Iterable<FieldError> {
  if (!http) return;
  if ((http.paths ?? []).length === 0) yield required(`${path}.http.paths`);
  for (const [i, one] of (http.paths ?? []).entries()) yield* validatePath(one, `${path}.http.paths[${i}]`, nameProblems);
}

const hasWildcard = ({host = ''}: Readonly<Rule>): boolean => host.includes('*');

function* validateRules({rules = []}: Spec, old: Spec | undefined, nameProblems: NameProblems): Iterable<FieldError> {
  // Paths of wildcard hosts were not validated once; stored ones may stay.
  const lenient = (old?.rules ?? []).some(rule => hasWildcard(rule) && isWrong(validateHttp(rule, '', dnsLabel1035Problems)));
  for (const [i, rule] of rules.entries()) {
    const path = `spec.rules[${i}]`;
    if (rule.host) {
      if (parseLooseIp(rule.host)) yield invalid(`${path}.host`, rule.host, 'must be a DNS name, not an IP address');
      yield* each(`${path}.host`, rule.host, hostProblems(rule.host));
    }
    if (!hasWildcard(rule) || !lenient) yield* validateHttp(rule, path, nameProblems);
  }
}

function* validateTls({tls = []}: Spec, old: Spec | undefined): Iterable<FieldError> {
  const lenient = (old?.tls ?? []).some(({secretName}) => secretName && dnsSubdomainProblems(secretName).length > 0);
  for (const [i, {hosts = [], secretName}] of tls.entries()) {
    for (const [j, host] of hosts.entries()) yield* each(`spec.tls[${i}].hosts[${j}]`, host, hostProblems(host));
    if (secretName && !lenient) yield* dnsSubdomain(`spec.tls[${i}].secretName`, secretName);
  }
}

const servicesOf = ({defaultBackend, rules = []}: Spec): string[] =>
  [defaultBackend, ...rules.flatMap(({http}) => http?.paths.map(({backend}) => backend) ?? [])].flatMap(
    backend => backend?.service?.name ?? [],
  );

/** Service names may begin with a digit if the gate allows it, or if the stored ingress has such a name. */
const serviceNames = (old: Spec | undefined, gate: HookContext['gate']): NameProblems =>
  gate('RelaxedServiceNameValidation') ||
  (old && servicesOf(old).some(name => dnsLabelProblems(name).length === 0 && dnsLabel1035Problems(name).length > 0))
    ? dnsLabelProblems
    : dnsLabel1035Problems;

function* validate(
  {metadata, spec = {}}: Readonly<Ingress>,
  old: Readonly<Ingress> | undefined,
  {naming, gate}: HookContext,
): Iterable<FieldError> {
  const {rules = [], defaultBackend, ingressClassName} = spec;
  const nameProblems = serviceNames(old?.spec, gate);
  if (rules.length === 0 && !defaultBackend)
    yield invalid('spec', internalList(spec, 'rules'), 'either `defaultBackend` or `rules` must be specified');
  if (defaultBackend) yield* validateBackend(defaultBackend, 'spec.defaultBackend', nameProblems);
  yield* validateRules(spec, old?.spec, nameProblems);
  yield* validateTls(spec, old?.spec);
  if (ingressClassName !== undefined) yield* dnsSubdomain('spec.ingressClassName', ingressClassName);
  const key = naming.key('ingress.class');
  const annotated = metadata?.annotations?.[key];
  if (!old && annotated !== undefined && ingressClassName !== undefined && annotated !== ingressClassName) {
    yield invalid(`annotations.${key}`, annotated, 'must match `ingressClassName` when both are specified');
  }
}

function* validateStatus({status}: Readonly<Ingress>, old: Readonly<Ingress> | undefined, {gate}: HookContext): Iterable<FieldError> {
  const stored = old?.status?.loadBalancer?.ingress?.flatMap(({ip}) => ip || []);
  for (const [i, {ip, hostname}] of (status?.loadBalancer?.ingress ?? []).entries()) {
    const path = `status.loadBalancer.ingress[${i}]`;
    if (ip) yield* legacyIp(`${path}.ip`, ip, {strict: gate('StrictIPCIDRValidation'), stored});
    if (hostname) yield* balancerHostname(`${path}.hostname`, hostname);
  }
}

const maxShownHosts = 3;

const hostsText = ({spec}: Readonly<Ingress>): string => {
  const rules = spec?.rules ?? [];
  const hosts: string[] = [];
  let more = false;
  for (const {host} of rules) {
    if (hosts.length === maxShownHosts) more = true;
    else if (host) hosts.push(host);
  }
  if (hosts.length === 0) return '*';
  return more ? `${hosts.join(',')} + ${rules.length - maxShownHosts} more...` : hosts.join(',');
};

/** Ingress: routes calls from outside to services, by host and path. */
export const ingresses = defineResource<Ingress>({
  kind: kinds.ingresses,
  discovery: {shortNames: ['ing']},
  storage: {path: 'ingress', alwaysPresent: {spec: {}, status: {loadBalancer: {}}}},
  metadata: {nameProblems: subdomainName, generation: true},
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    validate,
    *warn({metadata, spec}, old, {naming}) {
      const key = naming.key('ingress.class');
      if (!old && metadata?.annotations?.[key] !== undefined && spec?.ingressClassName === undefined)
        yield `annotation ${JSON.stringify(key)} is deprecated, please use 'spec.ingressClassName' instead`;
    },
  },
  subresources: {
    status: {
      writes: {update: ['metadata', 'status']},
      validate: validateStatus,
      *warn({status}, _old, {naming}) {
        for (const [i, {ip}] of (status?.loadBalancer?.ingress ?? []).entries())
          if (ip) yield* ipWarnings(`status.loadBalancer.ingress[${i}]`, ip, naming);
      },
    },
  },
  presentation: {
    columns: [
      nameColumn,
      {name: 'Class', description: 'The class whose controller serves the ingress.', of: ({spec}) => spec?.ingressClassName ?? '<none>'},
      {name: 'Hosts', description: 'The hosts the rules are about.', of: hostsText},
      {name: 'Address', description: 'Where the calls arrive.', of: ({status}) => balancerText(status?.loadBalancer?.ingress)},
      {name: 'Ports', description: 'The ports the calls arrive on.', of: ({spec}) => ((spec?.tls ?? []).length > 0 ? '80, 443' : '80')},
      ageColumn,
    ],
  },
});

/** The requests that a rule selects; a list with `*` selects everything. */
export interface Rule {
  readonly operations?: readonly string[] | undefined;
  readonly apiGroups?: readonly string[] | undefined;
  readonly apiVersions?: readonly string[] | undefined;
  /** With their subresources: `pods`, `pods/status`, `pods/*`, `*`, `*` with `/scale`, or `*` for both. */
  readonly resources?: readonly string[] | undefined;
  readonly scope?: string | undefined;
  /** If not empty, only these names match. */
  readonly resourceNames?: readonly string[] | undefined;
}

/** The attributes that a rule is matched against: those of a request, or of the same request in another version. */
export interface RuleSubject {
  readonly operation: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** For a request on a namespace its own name. */
  readonly namespace: string;
  readonly name: string;
}

const isNamed = (list: readonly string[] | undefined, value: string): boolean =>
  list?.some(item => item === '*' || item === value) ?? false;

const isInScope = ({scope = '*'}: Rule, {group, version, resource, namespace}: RuleSubject): boolean => {
  if (scope === '*') return true;
  const isClusterWide = namespace === '' || (group === '' && version === 'v1' && resource === 'namespaces');
  return scope === 'Cluster' ? isClusterWide : scope === 'Namespaced' && !isClusterWide;
};

const isResource = (pattern: string, {resource, subresource}: RuleSubject): boolean => {
  const slash = pattern.indexOf('/');
  const [expected, sub] = slash < 0 ? [pattern, ''] : [pattern.slice(0, slash), pattern.slice(slash + 1)];
  return (expected === '*' || expected === resource) && (sub === '*' || sub === subresource);
};

/** Whether a rule selects a request. */
export const ruleMatches = (rule: Rule, subject: RuleSubject): boolean =>
  isInScope(rule, subject) &&
  isNamed(rule.operations, subject.operation) &&
  isNamed(rule.apiGroups, subject.group) &&
  isNamed(rule.apiVersions, subject.version) &&
  (rule.resources?.some(pattern => isResource(pattern, subject)) ?? false) &&
  (!rule.resourceNames?.length || rule.resourceNames.includes(subject.name));

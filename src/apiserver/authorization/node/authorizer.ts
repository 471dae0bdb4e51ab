import type {Attributes, Authorizer, Decision, UserRules} from '#src/api/authorization.js';
import type {Naming} from '#src/api/naming.js';
import {nodeOfUser} from '#src/api/node/user.js';
import {parseFieldSelector, pinnedValue} from '#src/api/selectors/field-selector.js';
import type {PolicyRule} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import type {RuleLister} from '#src/apiserver/authorization/modes.js';
import {allows} from '#src/apiserver/authorization/rules.js';
import type {NodeGraph} from './graph.js';
import type {ReadableKind} from './references.js';

type Target = NonNullable<Attributes['resource']>;

/** The input of the rule for one resource. */
interface RuleInput {
  readonly node: string;
  readonly verb: string;
  readonly target: Target;
}
type NodeRule = (request: RuleInput) => Decision;

const allow: Decision = {decision: 'allow'};
const no = (reason?: string): Decision => ({decision: 'noOpinion', ...(reason ? {reason} : {})});

/** Whether a list or watch is restricted to objects with that value of a field. */
const narrowed = ({fieldSelector = ''}: Target, field: string, value: string): boolean => {
  try {
    return fieldSelector !== '' && pinnedValue(parseFieldSelector(fieldSelector), field) === value;
  } catch {
    return false; // A malformed selector is reported when it is parsed.
  }
};

const oneOf = (verbs: string): ((verb: string) => boolean) => {
  const all = new Set(verbs.split(' '));
  return verb => all.has(verb);
};
const isRead = oneOf('get list watch');
const isChange = oneOf('update patch');
const isOwnerVerb = oneOf('get create update patch delete');

const onOwnName = (what: string, {node, verb, target}: RuleInput, inAll: string): Decision => {
  if (!isOwnerVerb(verb)) return no(`can only get, create, update, patch, or delete ${what}`);
  // On creation the name is not known yet: admission checks it.
  return verb === 'create' || target.name === node ? allow : no(`can only access ${inAll} with the same name as the requesting node`);
};

/**
 * Authorizes node agents (the API reference, Node authorization): they may read objects that their own pods use and
 * manage their own node's objects; all other rules are fixed. What depends on the body is checked by the
 * NodeRestriction plugin. Never denies.
 */
export class NodeAuthorizer implements Authorizer, RuleLister {
  readonly #graph: NodeGraph;
  readonly #rules: readonly PolicyRule[];
  readonly #nodeRules: ReadonlyMap<string, NodeRule>;

  constructor({
    graph,
    naming,
    rules,
    gate,
  }: {
    readonly graph: NodeGraph;
    readonly naming: Naming;
    readonly rules: readonly PolicyRule[];
    gate(name: string): boolean;
  }) {
    this.#graph = graph;
    this.#rules = rules;
    const inGroup = (group: Parameters<Naming['group']>[0], resource: string): string => `${naming.group(group)}/${resource}`;
    this.#nodeRules = new Map<string, NodeRule>([
      ['/secrets', request => this.#read('secrets', request)],
      ['/configmaps', request => this.#read('configmaps', request)],
      [
        '/persistentvolumeclaims',
        request =>
          request.target.subresource === 'status'
            ? this.#changeStatus('persistentvolumeclaims', request)
            : this.#get('persistentvolumeclaims', request),
      ],
      ['/persistentvolumes', request => this.#get('persistentvolumes', request)],
      [
        '/serviceaccounts',
        request =>
          gate('PlatletServiceAccountTokenForCredentialProviders') && request.verb === 'get'
            ? this.#get('serviceaccounts', request)
            : this.#token(request),
      ],
      ['/nodes', request => this.#ofNode(request)],
      ['/pods', request => this.#ofPod(request)],
      [inGroup('resource', 'resourceclaims'), request => this.#get('resourceclaims', request)],
      [inGroup('resource', 'resourceslices'), request => this.#slice(request)],
      [inGroup('storage', 'volumeattachments'), request => this.#get('volumeattachments', request)],
      [
        inGroup('storage', 'csinodes'),
        request => (request.target.subresource ? no('cannot authorize CSINode subresources') : onOwnName('a CSINode', request, 'CSINode')),
      ],
      [
        inGroup('coordination', 'leases'),
        request => {
          if (!isOwnerVerb(request.verb)) return onOwnName('a node lease', request, 'node lease');
          if (request.target.namespace !== naming.nodeLeaseNamespace)
            return no(`can only access leases in the ${JSON.stringify(naming.nodeLeaseNamespace)} system namespace`);
          return onOwnName('a node lease', request, 'node lease');
        },
      ],
      ...(gate('PodCertificateRequest')
        ? [[inGroup('certificates', 'podcertificaterequests'), (request: RuleInput) => this.#podCertificate(request)] as const]
        : []),
    ]);
  }

  authorize(attributes: Attributes): Decision {
    const node = nodeOfUser(attributes.user);
    if (node === undefined) return no();
    if (node === '') return no(`unknown node for user ${JSON.stringify(attributes.user.name)}`);
    const {resource: target, verb} = attributes;
    const nodeRule = target && this.#nodeRules.get(`${target.group}/${target.resource}`);
    if (nodeRule) return nodeRule({node, verb, target});
    return this.#rules.some(rule => allows(rule, attributes)) ? allow : no();
  }

  rulesFor(user: UserInfo): UserRules {
    const isNode = nodeOfUser(user) !== undefined;
    return {
      resourceRules: [],
      nonResourceRules: [],
      incomplete: isNode,
      ...(isNode ? {error: 'node authorizer does not support user rule resolution'} : {}),
    };
  }

  #related(what: ReadableKind, {node, target: {namespace, name}}: RuleInput): Decision {
    if (!name) return no('No Object name found');
    return this.#graph.reaches(node, what, namespace, name) ? allow : no(`no relationship found between node '${node}' and this object`);
  }

  #get(what: ReadableKind, request: RuleInput): Decision {
    if (request.verb !== 'get') return no('can only get individual resources of this type');
    return request.target.subresource ? no('cannot get subresource') : this.#related(what, request);
  }

  #read(what: ReadableKind, request: RuleInput): Decision {
    if (!isRead(request.verb)) return no('can only read resources of this type');
    if (request.target.subresource) return no('cannot read subresource');
    return request.target.namespace ? this.#related(what, request) : no('can only read namespaced object of this type');
  }

  #changeStatus(what: ReadableKind, request: RuleInput): Decision {
    return isChange(request.verb) ? this.#related(what, request) : no('can only get/update/patch this type');
  }

  #token(request: RuleInput): Decision {
    if (request.verb !== 'create' || !request.target.name) return no('can only create tokens for individual service accounts');
    return request.target.subresource === 'token'
      ? this.#related('serviceaccounts', request)
      : no('can only create token subresource of serviceaccount');
  }

  #ofNode({node, verb, target: {subresource, name}}: RuleInput): Decision {
    if (subresource === 'status' && isChange(verb)) return allow;
    if (subresource) return no();
    if (verb === 'create' || isChange(verb)) return allow;
    if (!isRead(verb)) return no();
    if (name === node) return allow;
    return no(
      name
        ? `node '${node}' cannot read '${name}', only its own Node object`
        : `node '${node}' cannot read all nodes, only its own Node object`,
    );
  }

  #ofPod(request: RuleInput): Decision {
    const {node, verb, target} = request;
    if (target.subresource)
      return (target.subresource === 'status' && isChange(verb)) || (target.subresource === 'eviction' && verb === 'create') ? allow : no();
    if (verb === 'get') return this.#get('pods', request);
    if (verb === 'create' || verb === 'delete') return allow;
    if (verb !== 'list' && verb !== 'watch') return no();
    if (narrowed(target, 'spec.nodeName', node)) return allow;
    return target.name ? this.#related('pods', request) : no('can only list/watch pods with spec.nodeName field selector');
  }

  #slice(request: RuleInput): Decision {
    const {node, verb, target} = request;
    if (target.subresource) return no('cannot authorize ResourceSlice subresources');
    if (verb === 'create') return allow;
    if (verb === 'get' || verb === 'delete' || isChange(verb)) return this.#related('resourceslices', request);
    if (verb !== 'list' && verb !== 'watch' && verb !== 'deletecollection') {
      return no(
        'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
      );
    }
    if (narrowed(target, 'spec.nodeName', node)) return allow;
    return no('can only list/watch/deletecollection resourceslices with nodeName field selector');
  }

  #podCertificate(request: RuleInput): Decision {
    const {node, verb, target} = request;
    if (target.subresource) return no('cannot authorize PodCertificateRequest subresources');
    if (verb === 'create') return allow;
    if (verb === 'get') return this.#related('podcertificaterequests', request);
    if (verb !== 'list' && verb !== 'watch') return no('can only get, list, watch, or create a PodCertificateRequest');
    if (narrowed(target, 'spec.nodeName', node)) return allow;
    return target.name
      ? this.#related('podcertificaterequests', request)
      : no('can only list/watch podcertificaterequests with spec.nodeName field selector');
  }
}

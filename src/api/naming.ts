/** The name of a vocabulary. */
export type NamingName = 'plat' | 'kubernetes';

/**
 * API groups that carry the maker's suffix; the others (`''`, `apps`, `batch`, ...) are the same in both vocabularies.
 */
const suffixedGroups = [
  'admission',
  'admissionregistration',
  'apiextensions',
  'apiregistration',
  'authentication',
  'authorization',
  'certificates',
  'client.authentication',
  'coordination',
  'discovery',
  'events',
  'flowcontrol.apiserver',
  'internal.apiserver',
  'metrics',
  'custom.metrics',
  'external.metrics',
  'imagepolicy',
  'networking',
  'node',
  'rbac.authorization',
  'resource',
  'scheduling',
  'storage',
  'storagemigration',
  'meta',
  'audit',
  'apidiscovery',
  'apiserver',
  'apiserver.config',
  'config',
] as const;
const plainGroups = ['', 'apps', 'autoscaling', 'batch', 'policy', 'extensions'] as const;

/** A group as code names it: without any suffix. */
export type GroupToken = (typeof suffixedGroups)[number] | (typeof plainGroups)[number];

/** The terms that differ between the vocabularies. Everything else of a `Naming` is derived from them. */
interface Vocabulary {
  readonly name: NamingName;
  /** Suffix of API groups, and of the few labels and annotations that belong to a group. */
  readonly apiSuffix: string;
  /** Prefix domain of labels, annotations, taints, finalizers, signers, secret types and claims. */
  readonly domain: string;
  /** What texts call the system. */
  readonly title: string;
  /** Prefix of component, namespace and user names. */
  readonly prefix: string;
  /** The node agent. */
  readonly agent: string;
  /** The self service, the namespace finalizer, and the issuer's host. */
  readonly self: string;
  /** The backing key-value store, as health checks call it. */
  readonly store: string;
  /** Prefix of the flow-control response headers. */
  readonly header: string;
  readonly definitionPrefix: string;
  readonly extensionPrefix: string;
  readonly encryptedPrefix: string;
  readonly envelopeMagic: readonly number[];
  readonly lastAppliedKey: string;
}

const vocabularies: Record<NamingName, Vocabulary> = {
  plat: {
    name: 'plat',
    apiSuffix: 'plat.io',
    domain: 'plat.io',
    title: 'plat',
    prefix: 'plat',
    agent: 'platlet',
    self: 'plat',
    store: 'kvstore',
    header: 'X-Plat',
    definitionPrefix: 'io.plat',
    extensionPrefix: 'x-plat',
    encryptedPrefix: 'plat:enc:',
    envelopeMagic: [0x70, 0x6c, 0x74, 0x00],
    lastAppliedKey: 'kubectl.kubernetes.io/last-applied-configuration',
  },
  kubernetes: {
    name: 'kubernetes',
    apiSuffix: 'k8s.io',
    domain: 'kubernetes.io',
    title: 'Kubernetes',
    prefix: 'kube',
    agent: 'kubelet',
    self: 'kubernetes',
    store: 'etcd',
    header: 'X-Kubernetes',
    definitionPrefix: 'io.k8s',
    extensionPrefix: 'x-kubernetes',
    encryptedPrefix: 'k8s:enc:',
    envelopeMagic: [0x6b, 0x38, 0x73, 0x00],
    lastAppliedKey: 'kubectl.kubernetes.io/last-applied-configuration',
  },
};

const suffixed: ReadonlySet<string> = new Set(suffixedGroups);

/** Kubernetes terms in descriptions, and URLs, which stay unchanged. */
const kubernetesTerms = /https?:\/\/\S+|kubernetes\.io|k8s\.io|kubernetes|kubelet|\bkube(?=-)|\bk8s\b/gi;

const platTerm = (vocabulary: Vocabulary, found: string): string => {
  const term = found.toLowerCase();
  if (term.startsWith('http')) return found;
  const own = term.endsWith('.io')
    ? term.startsWith('k8s')
      ? vocabulary.apiSuffix
      : vocabulary.domain
    : term === 'kubelet'
      ? vocabulary.agent
      : term === 'kube'
        ? vocabulary.prefix
        : vocabulary.self;
  return /^[A-Z]/.test(found) && !found.includes('.') ? `${own.charAt(0).toUpperCase()}${own.slice(1)}` : own;
};

/** The name of a group on the wire. */
const groupName = ({apiSuffix}: Vocabulary, token: GroupToken): string => (suffixed.has(token) ? `${token}.${apiSuffix}` : token);

/** Names of API groups, and what errors call their code. */
const groupNames = (vocabulary: Vocabulary) => {
  const tokens = new Map<string, GroupToken>([
    ...suffixedGroups.map((token): [string, GroupToken] => [`${token}.${vocabulary.apiSuffix}`, token]),
    ...plainGroups.map((token): [string, GroupToken] => [token, token]),
  ]);
  return {
    /** Returns the name of a group on the wire. */
    group: (token: GroupToken): string => groupName(vocabulary, token),
    /** Returns the token of a group on the wire; undefined for groups that are not built in. */
    groupToken: (wire: string): GroupToken | undefined => tokens.get(wire),
    /** `apiVersion` on the wire. */
    apiVersion: (token: GroupToken, version: string): string => (token === '' ? version : `${groupName(vocabulary, token)}/${version}`),
    /** Whether objects of a group are decoded by a scheme of their own. */
    hasOwnScheme: (token: GroupToken): boolean => token === 'apiextensions' || token === 'apiregistration',
    /** The upstream name, in errors, of the scheme that decodes objects of a group. */
    schemeOf: (token: GroupToken | 'options'): string => {
      if (token === 'apiextensions') return `${vocabulary.apiSuffix}/apiextensions-apiserver/pkg/apiserver/apiserver.go:55`;
      if (token === 'apiregistration') return `${vocabulary.apiSuffix}/${vocabulary.prefix}-aggregator/pkg/apiserver/scheme/scheme.go:28`;
      if (token === 'options') return `${vocabulary.apiSuffix}/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27`;
      return 'pkg/api/legacyscheme/scheme.go:30';
    },
    /** The upstream name, in errors, of the internal types of a group. */
    packageOf: (token: GroupToken): string =>
      token === '' || token === 'events' ? 'core' : token === 'internal.apiserver' ? 'apiserverinternal' : token.split('.')[0]!,
  };
};

/** Keys of labels, annotations, taints and the like, by their names. */
const keyNames = (vocabulary: Vocabulary) => ({
  /** `<domain>/<name>`: a label, annotation, taint, finalizer, signer or secret type. */
  key: (name: string): string => `${vocabulary.domain}/${name}`,
  /** `<sub>.<domain>/<name>`, for example `node` and `not-ready`. */
  subKey: (sub: string, name: string): string => `${sub}.${vocabulary.domain}/${name}`,
  /** `<group>/<name>`: the few keys that belong to an API group. */
  groupKey: (token: GroupToken, name: string): string => `${groupName(vocabulary, token)}/${name}`,
});

/** Namespaces, components, users and signers. */
const partyNames = (vocabulary: Vocabulary) => {
  const {key} = keyNames(vocabulary);
  return {
    systemNamespace: `${vocabulary.prefix}-system`,
    publicNamespace: `${vocabulary.prefix}-public`,
    nodeLeaseNamespace: `${vocabulary.prefix}-node-lease`,
    /** A component's program name, for example `component('controller-manager')`. */
    component: (name: string): string => `${vocabulary.prefix}-${name}`,
    /** The program of the store. */
    storeProgram: vocabulary.store,
    /** The first words of flags that name the store, the node agent or the self service. */
    flagWords: [vocabulary.store, vocabulary.agent, vocabulary.self] as const,
    /** A component's user. */
    componentUser: (name: string): string => `system:${vocabulary.prefix}-${name}`,
    serviceAccountUser: (namespace: string, name: string): string => `system:serviceaccount:${namespace}:${name}`,
    signers: {
      apiserverClient: key(`${vocabulary.prefix}-apiserver-client`),
      apiserverClientAgent: key(`${vocabulary.prefix}-apiserver-client-${vocabulary.agent}`),
      agentServing: key(`${vocabulary.agent}-serving`),
      legacyUnknown: key('legacy-unknown'),
      apiserverServing: key(`${vocabulary.prefix}-apiserver-serving`),
    },
    /** The finalizer in `spec.finalizers` of every namespace, and the name of the self service. */
    namespaceFinalizer: vocabulary.self,
  };
};

/** Labels, annotations and extras that the control plane itself reads and writes. */
const metadataNames = (vocabulary: Vocabulary) => {
  const {key, groupKey} = keyNames(vocabulary);
  return {
    labels: {
      metadataName: key('metadata.name'),
      bootstrapping: key('bootstrapping'),
      hostname: key('hostname'),
      os: key('os'),
      arch: key('arch'),
      aggregateTo: (role: string): string => groupKey('rbac.authorization', `aggregate-to-${role}`),
    },
    annotations: {
      autoupdate: `rbac.authorization.${vocabulary.domain}/autoupdate`,
      /** Under both names where they differ: generic clients look for their own. */
      initialEventsEnd: [...new Set([vocabulary.apiSuffix, vocabularies.kubernetes.apiSuffix])].map(
        suffix => `${suffix}/initial-events-end`,
      ),
      description: key('description'),
      lastApplied: vocabulary.lastAppliedKey,
      /** Annotation of approved definitions in protected groups. */
      approved: `api-approved.${vocabulary.domain}`,
    },
    extras: {
      credentialId: `authentication.${vocabulary.domain}/credential-id`,
      podName: `authentication.${vocabulary.domain}/pod-name`,
      podUid: `authentication.${vocabulary.domain}/pod-uid`,
      nodeName: `authentication.${vocabulary.domain}/node-name`,
      nodeUid: `authentication.${vocabulary.domain}/node-uid`,
    },
  };
};

/** Names of objects, media types, issuers, paths, hosts and headers. */
const wellKnownNames = (vocabulary: Vocabulary) => ({
  rootCaConfigMap: `${vocabulary.prefix}-root-ca.crt`,
  /** Records since when uses of legacy tokens are tracked. */
  legacyTokenTracking: `${vocabulary.prefix}-apiserver-legacy-service-account-token-tracking`,
  protobufMediaType: `application/vnd.${vocabulary.self}.protobuf`,
  issuer: `https://${vocabulary.self}.default.svc`,
  /** The issuer of tokens that are kept in secrets. */
  secretTokenIssuer: `${vocabulary.self}/serviceaccount`,
  /** The scheme of webhook reviews in error messages. */
  reviewScheme: `${vocabulary.apiSuffix}/apiserver/pkg/util/webhook/client.go:71`,
  /** The mount path of the service account token in containers. */
  tokenMountPath: `/var/run/secrets/${vocabulary.domain}/serviceaccount`,
  /** The host names of the self service. */
  selfServiceNames: [
    vocabulary.self,
    `${vocabulary.self}.default`,
    `${vocabulary.self}.default.svc`,
    `${vocabulary.self}.default.svc.cluster.local`,
  ] as readonly string[],
  flowControlHeaders: {flowSchema: `${vocabulary.header}-PF-FlowSchema-UID`, priorityLevel: `${vocabulary.header}-PF-PriorityLevel-UID`},
});

/** Names in documents and descriptions. */
const documentNames = (vocabulary: Vocabulary) => ({
  /** The URL of a documentation page, the same in both vocabularies. */
  page: (path: string): string => `https://kubernetes.io/docs/${path}`,
  /** The URL of a section of the API conventions, the same in both vocabularies. */
  conventions: (part: string): string => `https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#${part}`,
  /** Name of a type in OpenAPI documents, for example `definition('api', 'core.v1', 'Pod')`. */
  definition: (path: string): string => `${vocabulary.definitionPrefix}.${path}`,
  /** Returns a description with Kubernetes terms replaced by those of this vocabulary. */
  inWords: (text: string): string =>
    vocabulary.name === 'kubernetes' ? text : text.replaceAll(kubernetesTerms, term => platTerm(vocabulary, term)),
});

const derive = (vocabulary: Vocabulary) => ({
  ...vocabulary,
  ...groupNames(vocabulary),
  ...keyNames(vocabulary),
  ...partyNames(vocabulary),
  ...metadataNames(vocabulary),
  ...wellKnownNames(vocabulary),
  ...documentNames(vocabulary),
});

/** A resolved vocabulary: maps neutral tokens to names on the wire. */
export type Naming = ReturnType<typeof derive>;

const namings: Record<NamingName, Naming> = {plat: derive(vocabularies.plat), kubernetes: derive(vocabularies.kubernetes)};

/** Returns the vocabulary of a name. */
export const naming = (name: NamingName): Naming => namings[name];

/** Schema extensions every server emits in both namings, so that generic clients read them. */
export const compatibleExtensionPrefix = vocabularies.kubernetes.extensionPrefix;

/** Returns the compatible name of a schema extension in the plat naming; undefined for other names. */
export const compatibleExtension = (name: string): string | undefined =>
  name.startsWith(`${vocabularies.plat.extensionPrefix}-`)
    ? `${compatibleExtensionPrefix}${name.slice(vocabularies.plat.extensionPrefix.length)}`
    : undefined;

/** Group suffixes a client's `Accept` parameters may carry in any naming. */
export const knownApiSuffixes: readonly string[] = [vocabularies.plat.apiSuffix, vocabularies.kubernetes.apiSuffix];

/** The suffix of the stream protocols that container runtimes speak, whatever the naming. */
export const runtimeApiSuffix = vocabularies.kubernetes.apiSuffix;

/**
 * How the names of folders of volumes on nodes begin, whatever the naming: an agent of the other naming finds its pods
 * by them.
 */
export const volumeFolderPrefix = `${vocabularies.kubernetes.domain}~`;

/** The names of files that device plugins and other agents know, whatever the naming. */
export const deviceFiles = {
  /** The socket by which plugins register. */
  socket: 'kubelet.sock',
  checkpoint: 'kubelet_internal_checkpoint',
} as const;

/** What drivers of resource claims and other agents know, whatever the naming. */
export const claimDriverNames = {
  /** The package of the drivers' services, without its version. */
  services: `${vocabularies.kubernetes.apiSuffix}.kubelet.pkg.apis.dra`,
  /** The group of the checkpoint. */
  checkpoint: `checkpoint.dra.kubelet.${vocabularies.kubernetes.apiSuffix}`,
} as const;

/** The nftables table of the service proxy, whatever the naming: other programs of a node look for it. */
export const proxyTable = {name: 'kube-proxy', comment: 'rules for kube-proxy'} as const;

/** The domain of folders of volume plugins on nodes, whatever the naming. */
export const volumePluginDomain = vocabularies.kubernetes.domain;

/** How the keys begin by which storage drivers are told of pods: drivers know no other naming. */
export const csiContextPrefix = `csi.storage.${vocabularies.kubernetes.apiSuffix}/`;

/** The naming whose binary form a media type without parameters means. */
export const namingOfMediaType = (type: string): Naming | undefined =>
  Object.values(namings).find(({protobufMediaType}) => protobufMediaType === type);

import type {Authorizer} from '#src/api/authorization.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {noMeter} from '#src/base/meter.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import {hookSource} from '#src/apiserver/admission/webhook/hook-source.js';
import {policySource} from '#src/apiserver/admission/policy/source.js';
import {webhookCaller} from '#src/apiserver/backends/webhook-caller.js';
import {createAuthority} from '#src/pki/authority.js';
import {certificatePem} from '#src/pki/certificate.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {systemClock} from '#src/base/clock.js';
import type {PluginContext} from '#src/apiserver/admission-plugins.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {namespace, noWebhooks} from '#test/apiserver/admission/context.js';
import {configMaps} from '#test/apiserver/admission/policy-environment.js';
import {aHook, aHookServer, patching, type HookServer} from '#test/apiserver/admission/webhook-environment.js';
import {jane} from '#test/resources/environment.js';
import {root, type Env, type Row} from './row.js';

const key = await generatePrivateKey();
const signer = 'example.com/signer';
const aRequest = (name: string, organization = 'o', signerName = signer): CertificateSigningRequest => ({
  metadata: {name},
  spec: {
    request: Buffer.from(createSigningRequest(key, {subject: {commonName: 'x', organizations: [organization]}})).toString('base64'),
    signerName,
  },
});
const trusted = certificatePem(createAuthority(key, {commonName: 'c', now: 0, lifetimeMs: 1e9}).certificate);
const aBundle = (name: string) => ({metadata: {name: `example.com:signer:${name}`}, spec: {signerName: signer, trustBundle: trusted}});

const rootOnly: Authorizer = {authorize: ({user}) => ({decision: user.name === root.name ? 'allow' : 'noOpinion', reason: 'not root'})};
const guarded = {own: {authorizer: rootOnly}};

const aMap = (name: string, data = {}) => ({metadata: {name, namespace}, data});
const aClaim = (name: string, more: object = {}) => ({
  metadata: {name, namespace},
  spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}, ...more},
});
const aService = (name: string, more: object = {}) => ({metadata: {name, namespace}, spec: {ports: [{port: 80}], ...more}});
const anIngress = (name: string, more: object = {}) => ({
  metadata: {name, namespace},
  spec: {defaultBackend: {service: {name: 's', port: {number: 80}}}, ...more},
});
const anEvent = (name: string) => ({
  metadata: {name, namespace},
  involvedObject: {kind: 'Pod', name: 'p', namespace},
  reason: 'R',
  type: 'Normal',
  message: 'm',
});
const isDefault = (sub: string) => ({annotations: {[`${sub}.plat.io/is-default-class`]: 'true'}});

const policies = (registry: Registry): Partial<PluginContext> => ({
  policies: {
    registry,
    meter: noMeter,
    sourceOf: (policies, bindings) => policySource(registry, {policies, bindings}, new AbortController().signal),
  },
});
const bound = (kind: Kind, bindings: Kind, spec: object, binding: object) => async (env: Env) => {
  await env.of(kind, root).create({metadata: {name: 'p'}, spec: {matchConstraints: configMaps, ...spec}} as never);
  await env.of(bindings, root).create({metadata: {name: 'b'}, spec: {policyName: 'p', ...binding}} as never);
};
const webhooks = (registry: Registry): Partial<PluginContext> => ({
  webhooks: {
    ...noWebhooks,
    registry,
    callerFor: () => webhookCaller({clock: systemClock, resolve: () => Promise.reject(new Error('no service')), userAgent: 'tester'}),
    sourceOf: (kind: Kind) => hookSource(registry, kind, new AbortController().signal),
  },
});

/** A webhook that refuses config maps called `bad`, and labels those called `new`. */
export const mapReviewer = () =>
  aHookServer(({name}) =>
    name === 'bad'
      ? {allowed: false, status: {message: 'bad is bad'}}
      : name === 'new'
        ? patching({op: 'add', path: '/metadata/labels', value: {a: 'b'}})
        : {allowed: true},
  );

const withFinalizers = async ({of}: Env) => (await of(kinds.persistentVolumeClaims).create(aClaim('a'))).metadata?.finalizers;
const createMap =
  (name: string, data = {}) =>
  ({of}: Env) =>
    of(kinds.configMaps).create(aMap(name, data));
const status = {subresource: 'status'};
const twoRequests = async ({of}: Env) => {
  for (const name of ['a', 'r']) await of(kinds.certificateSigningRequests).create(aRequest(name));
};
const approve =
  (name: string, user: UserInfo) =>
  async ({of}: Env) => {
    const requests = of(kinds.certificateSigningRequests, user);
    const approved = {...(await requests.get(name)), status: {conditions: [{type: 'Approved', status: 'True'}]}};
    return requests.update(approved, {subresource: 'approval'});
  };
const fail =
  (name: string, user: UserInfo) =>
  ({of}: Env) =>
    of(kinds.certificateSigningRequests, user).patch(name, 'merge', {status: {conditions: [{type: 'Failed', status: 'True'}]}}, status);

/** The rows of the plugins for certificates, storage, networking, namespaces and all kinds. */
export const otherRows = (hooks: HookServer) =>
  ({
    AlwaysAdmit: {admits: [async env => (await createMap('a')(env)).metadata?.name, 'a']},
    AlwaysDeny: {refuses: [createMap('a'), 'configmaps "a" is forbidden: admission control is denying all modifications']},
    CertificateApproval: {
      ...guarded,
      setup: twoRequests,
      admits: [approve('a', root)],
      refuses: [
        approve('r', jane),
        `certificatesigningrequests.certificates.plat.io "r" is forbidden: user not permitted to approve requests with signerName "${signer}"`,
      ],
    },
    CertificateSigning: {
      ...guarded,
      setup: twoRequests,
      admits: [fail('a', root)],
      refuses: [
        fail('r', jane),
        `certificatesigningrequests.certificates.plat.io "r" is forbidden: user not permitted to sign requests with signerName "${signer}"`,
      ],
    },
    CertificateSubjectRestriction: {
      admits: [({of}) => of(kinds.certificateSigningRequests).create(aRequest('a', 'o', 'plat.io/plat-apiserver-client'))],
      refuses: [
        ({of}) => of(kinds.certificateSigningRequests).create(aRequest('r', 'system:masters', 'plat.io/plat-apiserver-client')),
        'certificatesigningrequests.certificates.plat.io "r" is forbidden: use of plat.io/plat-apiserver-client signer with system:masters group is not allowed',
      ],
    },
    ClusterTrustBundleAttest: {
      ...guarded,
      admits: [({of}) => of(kinds.clusterTrustBundles, root).create(aBundle('a'))],
      refuses: [
        ({of}) => of(kinds.clusterTrustBundles).create(aBundle('b')),
        `clustertrustbundles.certificates.plat.io "example.com:signer:b" is forbidden: user not permitted to attest for signerName "${signer}"`,
      ],
    },
    DefaultIngressClass: {
      setup: ({of}) => of(kinds.ingressClasses).create({metadata: {name: 'c', ...isDefault('ingressclass')}, spec: {controller: 'a.io/b'}}),
      admits: [async ({of}) => (await of(kinds.ingresses).create(anIngress('a', {ingressClassName: 'own'}))).spec?.ingressClassName, 'own'],
      changes: [async ({of}) => (await of(kinds.ingresses).create(anIngress('b'))).spec?.ingressClassName, 'c'],
    },
    DefaultStorageClass: {
      setup: ({of}) => of(kinds.storageClasses).create({metadata: {name: 'c', ...isDefault('storageclass')}, provisioner: 'p.io/x'}),
      admits: [
        async ({of}) => (await of(kinds.persistentVolumeClaims).create(aClaim('a', {storageClassName: ''}))).spec?.storageClassName,
        '',
      ],
      changes: [async ({of}) => (await of(kinds.persistentVolumeClaims).create(aClaim('b'))).spec?.storageClassName, 'c'],
    },
    DenyServiceExternalIPs: {
      admits: [({of}) => of(kinds.services).create(aService('a'))],
      refuses: [
        ({of}) => of(kinds.services).create(aService('s', {externalIPs: ['10.1.1.1']})),
        'services "s" is forbidden: Use of external IPs is denied by admission control',
      ],
    },
    EventRateLimit: {
      own: {eventLimits: [{type: 'Server', qps: 1, burst: 1}]},
      admits: [({of}) => of(kinds.coreEvents).create(anEvent('a'))],
      refuses: [({of}) => of(kinds.coreEvents).create(anEvent('b')), 'limit reached on type Server for key '],
    },
    MutatingAdmissionPolicy: {
      own: policies,
      setup: bound(
        kinds.mutatingAdmissionPolicies as Kind,
        kinds.mutatingAdmissionPolicyBindings as Kind,
        {
          reinvocationPolicy: 'Never',
          matchConditions: [{name: 'new', expression: "object.metadata.name == 'new'"}],
          mutations: [{patchType: 'JSONPatch', jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/data', value: {'a': 'b'}}]"}}],
        },
        {},
      ),
      admits: [async env => (await createMap('a')(env)).data],
      changes: [async env => (await createMap('new')(env)).data, {a: 'b'}],
    },
    ValidatingAdmissionPolicy: {
      own: policies,
      setup: bound(
        kinds.validatingAdmissionPolicies as Kind,
        kinds.validatingAdmissionPolicyBindings as Kind,
        {validations: [{expression: "object.metadata.name != 'bad'", message: 'bad is bad'}]},
        {validationActions: ['Deny']},
      ),
      admits: [createMap('a')],
      refuses: [
        createMap('bad'),
        `configmaps "bad" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: bad is bad`,
      ],
    },
    MutatingAdmissionWebhook: {
      own: webhooks,
      setup: ({of}) => of(kinds.mutatingWebhookConfigurations as Kind).create({metadata: {name: 'c'}, webhooks: [aHook(hooks)]} as never),
      admits: [async env => (await createMap('a')(env)).metadata?.labels],
      refuses: [createMap('bad'), 'admission webhook "hook.example.com" denied the request: bad is bad'],
      changes: [async env => (await createMap('new')(env)).metadata?.labels, {a: 'b'}],
    },
    ValidatingAdmissionWebhook: {
      own: webhooks,
      setup: ({of}) => of(kinds.validatingWebhookConfigurations as Kind).create({metadata: {name: 'c'}, webhooks: [aHook(hooks)]} as never),
      admits: [createMap('a')],
      refuses: [createMap('bad'), 'admission webhook "hook.example.com" denied the request: bad is bad'],
    },
    NamespaceAutoProvision: {
      own: (_registry, env) => ({createNamespace: name => env().of(kinds.namespaces).create({metadata: {name}})}),
      admits: [createMap('a')],
      changes: [
        async ({of}) => {
          await of(kinds.configMaps).create({metadata: {name: 'a', namespace: 'new'}});
          return (await of(kinds.namespaces).get('new')).metadata?.name;
        },
        'new',
      ],
    },
    NamespaceExists: {
      admits: [createMap('a')],
      refuses: [({of}) => of(kinds.configMaps).create({metadata: {name: 'a', namespace: 'none'}}), 'namespaces "none" not found'],
    },
    NamespaceLifecycle: {
      setup: ({of}) => of(kinds.namespaces).create({metadata: {name: 'mine'}}),
      admits: [({of}) => of(kinds.namespaces).delete('mine')],
      refuses: [({of}) => of(kinds.namespaces).delete('default'), 'namespaces "default" is forbidden: this namespace may not be deleted'],
    },
    OwnerReferencesPermissionEnforcement: {
      ...guarded,
      setup: createMap('a'),
      admits: [({of}) => of(kinds.configMaps).patch('a', 'merge', {data: {x: 'y'}}, {namespace})],
      refuses: [
        ({of}) =>
          of(kinds.configMaps).patch(
            'a',
            'merge',
            {metadata: {ownerReferences: [{apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u'}]}},
            {namespace},
          ),
        `configmaps "a" is forbidden: cannot set an ownerRef on a resource you can't delete: not root, <nil>`,
      ],
    },
    PersistentVolumeClaimResize: {
      async setup({of}) {
        for (const allowVolumeExpansion of [true, false]) {
          const name = String(allowVolumeExpansion);
          await of(kinds.storageClasses).create({metadata: {name}, provisioner: 'p.io/x', allowVolumeExpansion});
          await of(kinds.persistentVolumeClaims).create(aClaim(name, {storageClassName: name, volumeName: 'v'}));
          const bound = {status: {phase: 'Bound', capacity: {storage: '1Gi'}}};
          await of(kinds.persistentVolumeClaims).patch(name, 'merge', bound, {namespace, ...status});
        }
      },
      admits: [
        ({of}) => of(kinds.persistentVolumeClaims).patch('true', 'merge', {spec: {resources: {requests: {storage: '2Gi'}}}}, {namespace}),
      ],
      refuses: [
        ({of}) => of(kinds.persistentVolumeClaims).patch('false', 'merge', {spec: {resources: {requests: {storage: '2Gi'}}}}, {namespace}),
        'persistentvolumeclaims "false" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
      ],
    },
    ResourceQuota: {
      async setup({of}) {
        await of(kinds.resourceQuotas).create({metadata: {name: 'q', namespace}, spec: {hard: {configmaps: '1'}}});
        await of(kinds.resourceQuotas).patch(
          'q',
          'merge',
          {status: {hard: {configmaps: '1'}, used: {configmaps: '0'}}},
          {namespace, ...status},
        );
      },
      admits: [createMap('a')],
      refuses: [
        createMap('b'),
        'configmaps "b" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1',
      ],
    },
    StorageObjectInUseProtection: {
      admits: [async env => (await createMap('a')(env)).metadata?.finalizers],
      changes: [withFinalizers, ['plat.io/pvc-protection']],
    },
  }) satisfies Record<string, Row>;

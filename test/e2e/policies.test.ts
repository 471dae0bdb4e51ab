import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {startPlane} from '#src/plane/plane.js';
import {hasKubectl, Kubectl} from './kubectl.js';

const replicaLimit = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replica-limit}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  variables:
  - {name: most, expression: int(params.data.most)}
  validations:
  - expression: object.spec.replicas <= variables.most
    messageExpression: "'at most ' + string(variables.most) + ' replicas'"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replica-limit}
spec:
  policyName: replica-limit
  validationActions: [ACTION]
  paramRef: {name: limit, parameterNotFoundAction: Allow}
  matchResources: {namespaceSelector: {matchLabels: {limited: "yes"}}}
`;

const stamp = `
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicy
metadata: {name: stamp}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"stamp": request.userInfo.username}}}'}
---
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicyBinding
metadata: {name: stamp}
spec: {policyName: stamp}
`;

(hasKubectl() ? test : test.skip)('kubectl meets policies that refuse, warn and change', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-policies-'));
  const settings = join(directory, 'settings.yaml');
  await using _ = await startPlane({
    naming: 'kubernetes',
    kubeconfig: settings,
    apiserverArgs: ['--feature-gates=MutatingAdmissionPolicy=true', '--runtime-config=admissionregistration.k8s.io/v1beta1=true'],
    controllerManagerArgs: ['--controllers=validatingadmissionpolicy-status-controller'],
  });
  using kubectl = new Kubectl(settings);
  await kubectl.ok('create namespace limited');
  await kubectl.ok('label namespace limited limited=yes');
  await kubectl.ok('-n limited create configmap limit --from-literal=most=2');
  await kubectl.ok('apply -f -', replicaLimit.replace('ACTION', 'Deny'));
  await kubectl.ok('apply -f -', stamp);

  const refused = await kubectl.try('-n limited create deployment large --image=i --replicas=3');
  t.is(refused.code, 1);
  t.is(
    refused.stderr.trim(),
    `error: failed to create deployment: deployments.apps "large" is forbidden: ValidatingAdmissionPolicy 'replica-limit' with binding 'replica-limit' denied request: at most 2 replicas`,
  );
  await kubectl.ok('-n limited create deployment fine --image=i --replicas=2');
  t.is(await kubectl.ok('-n limited get deployment fine -o jsonpath={.metadata.labels.stamp}'), 'plat-admin');
  await kubectl.ok('create deployment elsewhere --image=i --replicas=3');
  await kubectl.ok('apply -f -', replicaLimit.replace('ACTION', 'Warn'));
  const warned = await kubectl.try('-n limited create deployment large --image=i --replicas=3');
  t.is(warned.code, 0);
  t.regex(
    warned.stderr,
    /Warning: Validation failed for ValidatingAdmissionPolicy 'replica-limit' with binding 'replica-limit': at most 2 replicas/,
  );
  await kubectl.ok('wait validatingadmissionpolicy/replica-limit --for=jsonpath={.status.observedGeneration}=1 --timeout=10s');
  const described = await kubectl.ok(
    'get validatingadmissionpolicies,validatingadmissionpolicybindings,mutatingadmissionpolicies.v1beta1.admissionregistration.k8s.io',
  );
  t.regex(described, /replica-limit +1 +v1\/ConfigMap +[^]*replica-limit +replica-limit +\*\/limit +[^]*stamp +1 +<unset>/);
  t.regex(
    await kubectl.ok('get --raw /metrics'),
    /^apiserver_validating_admission_policy_check_total\{policy="replica-limit",policy_binding="replica-limit",error_type="invalid_error",enforcement_action="deny"\} 1$/m,
  );
  rmSync(directory, {recursive: true, force: true});
});

import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {startPlane} from '#src/plane/plane.js';
import {hasKubectl, Kubectl, table} from './kubectl.js';

const spec = {
  type: 'object',
  description: 'What a cron tab does.',
  required: ['schedule'],
  properties: {
    schedule: {type: 'string', description: 'When it runs.', pattern: '^(\\d+|\\*)(\\s+(\\d+|\\*)){4}$'},
    replicas: {type: 'integer', default: 2},
  },
  'x-kubernetes-validations': [{rule: 'self.replicas <= 5', message: 'too many'}],
};

const definition = (schema: object = spec, names: object = {}) =>
  JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {name: 'crontabs.example.com'},
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: {plural: 'crontabs', kind: 'CronTab', shortNames: ['ct'], ...names},
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {openAPIV3Schema: {type: 'object', properties: {spec: schema, status: {type: 'object', properties: {replicas: {type: 'integer'}}}}}},
          subresources: {status: {}, scale: {specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas'}},
          additionalPrinterColumns: [{name: 'Schedule', type: 'string', jsonPath: '.spec.schedule'}, {name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas'}],
          selectableFields: [{jsonPath: '.spec.schedule'}],
        },
      ],
    },
  });

const crontab = (name: string, more: object = {}) => JSON.stringify({apiVersion: 'example.com/v1', kind: 'CronTab', metadata: {name}, spec: {schedule: '* * * * *', ...more}});

(hasKubectl() ? test : test.skip)('kubectl defines a resource, uses it like one that was always there, and removes it with its objects', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-custom-'));
  const settings = join(directory, 'settings.yaml');
  await using _ = await startPlane({naming: 'kubernetes', kubeconfig: settings, controllerManagerArgs: ['--controllers=']});
  using kubectl = new Kubectl(settings);
  const refused = await kubectl.try('apply -f -', definition({...spec, properties: {...spec.properties, replicas: {type: 'int'}}}));
  t.regex(refused.stderr, /^The CustomResourceDefinition "crontabs\.example\.com" is invalid: ?[^]*spec\.validation\.openAPIV3Schema\.properties\[spec\]\.properties\[replicas\]\.type: Unsupported value: "int"/);
  t.is(await kubectl.ok('apply -f -', definition()), 'customresourcedefinition.apiextensions.k8s.io/crontabs.example.com created\n');
  t.is(await kubectl.ok('wait --for=condition=Established crd/crontabs.example.com --timeout=10s'), 'customresourcedefinition.apiextensions.k8s.io/crontabs.example.com condition met\n');
  t.is(await kubectl.ok('apply --server-side -f -', crontab('daily')), 'crontab.example.com/daily serverside-applied\n');
  t.is(await kubectl.ok('apply -f -', crontab('hourly', {schedule: '0 * * * *'})), 'crontab.example.com/hourly created\n');
  t.deepEqual(table(await kubectl.ok('get ct')), {columns: ['NAME', 'SCHEDULE', 'REPLICAS'], rows: {daily: ['* * * * *', '2'], hourly: ['0 * * * *', '2']}});
  t.is(await kubectl.okay(['get', 'crontabs', '--field-selector=spec.schedule=0 * * * *', '-o', 'name']), 'crontab.example.com/hourly\n');
  t.regex(await kubectl.ok('explain ct.spec'), /schedule\t<string> -required-\s+When it runs\./);
  t.regex((await kubectl.try('apply -f -', crontab('odd', {schedule: 'now', other: 1}))).stderr, /unknown field "spec\.other"/);
  t.regex((await kubectl.try('apply --validate=false -f -', crontab('odd', {schedule: 'now'}))).stderr, /spec\.schedule: Invalid value: "now": spec\.schedule in body should match/);
  t.regex((await kubectl.try('apply -f -', crontab('odd', {replicas: 9}))).stderr, /The CronTab "odd" is invalid: spec: Invalid value: "?object"?: too many/);
  await kubectl.ok('scale ct/daily --replicas=3');
  t.is(await kubectl.ok('get ct daily -o jsonpath={.spec.replicas}'), '3');
  await kubectl.ok('patch ct daily --subresource=status --type=merge -p {"status":{"replicas":3}}');
  t.is(await kubectl.ok('get ct daily --subresource=scale -o jsonpath={.status.replicas}'), '3');
  t.is(await kubectl.ok('apply -f -', definition(spec, {categories: ['all']})), 'customresourcedefinition.apiextensions.k8s.io/crontabs.example.com configured\n');
  t.regex(await kubectl.ok('api-resources --api-group=example.com -o wide'), /crontabs +ct +example\.com\/v1 +true +CronTab +delete,deletecollection,get,list,patch,create,update,watch +all/);
  t.is(await kubectl.ok('delete crd crontabs.example.com --timeout=20s'), 'customresourcedefinition.apiextensions.k8s.io "crontabs.example.com" deleted\n');
  t.is(await kubectl.ok('api-resources --api-group=example.com -o name'), '');
  rmSync(directory, {recursive: true, force: true});
});

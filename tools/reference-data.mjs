// Writes the tables in test/fixtures/reference, after a build: facts and hashes of the original's discovery, OpenAPI
// documents and default policy (PLAT_ORACLE names the folder with the recording), and hashes of our encodings of every
// kind. Run the tests that compare with the recording before the tables are committed.
import {mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {parse} from 'yaml';
import {aggregatedRows, groupRows} from '../dist/test/reference/aggregated.js';
import {discoveryRows} from '../dist/test/reference/discovery.js';
import {openApiRows} from '../dist/test/reference/openapi.js';
import {policyRows} from '../dist/test/reference/policy.js';
import {filledObjects, roundTripRow} from '../dist/test/reference/round-trips.js';
import {tablePath, tableText} from '../dist/test/reference/table.js';

const oracle = process.env.PLAT_ORACLE;

const write = (name, rows) => {
  const path = tablePath(name);
  const text = tableText(name, rows);
  mkdirSync(dirname(path), {recursive: true});
  writeFileSync(path, text);
  console.log(`${path}: ${rows.length} lines, ${text.length} bytes`);
};

const recorded = folder =>
  readdirSync(join(oracle, folder)).map(file => ({
    name: file.replace(/(_openapi)?\.json$/, '').replaceAll('__', '/'),
    document: JSON.parse(readFileSync(join(oracle, folder, file), 'utf8')),
  }));

/** Roles and bindings, without what a vendor's build adds to the original. */
const policyOf = (...files) =>
  files
    .flatMap(file => parse(readFileSync(join(oracle, 'rbac', `${file}.yaml`), 'utf8')).items)
    .filter(({metadata}) => metadata.name !== 'system:controller:service-ca-cert-publisher')
    .map(item => ({
      ...item,
      ...(item.rules && {rules: item.rules.filter(({resources}) => !resources?.includes('endpointslices/restricted'))}),
    }));

const policies = [
  'cluster-roles',
  'controller-roles',
  'cluster-role-bindings',
  'controller-role-bindings',
  'namespace-roles',
  'namespace-role-bindings',
];

if (oracle) {
  const documentOf = name => JSON.parse(readFileSync(join(oracle, 'discovery', `${name}.json`), 'utf8'));
  write('groups', groupRows(documentOf('apis')));
  write('aggregated', aggregatedRows(documentOf('aggregated_v2')));
  write('policy', policyRows(policyOf(...policies)));
  write('policy-with-all-gates', policyRows(policyOf('cluster-roles-featuregates')));
  write('discovery', discoveryRows(recorded('discovery').flatMap(({document}) => (document.kind === 'APIResourceList' ? [document] : []))));
  write('openapi-v3', openApiRows(recorded('openapi-v3')));
} else console.log('PLAT_ORACLE is unset: only the round trips are written');
write('round-trips', filledObjects().map(roundTripRow));

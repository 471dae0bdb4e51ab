import {spawnSync} from 'node:child_process';
import test from 'ava';

const isBuilt = Boolean(process.env['PLAT_TEST_BUNDLES']);
if (!isBuilt) console.log('skipped: the declarations of the package are as new as the tests only with make test');

(isBuilt ? test : test.skip)(
  'what the package exports is what test/docs/api says, and every export of @platio/plat/operator has a docstring',
  t => {
    const {status, stdout, stderr} = spawnSync(process.execPath, ['tools/api-report.mjs', '--check'], {encoding: 'utf8'});
    t.deepEqual({status, stdout, stderr}, {status: 0, stdout: '', stderr: ''});
  },
);

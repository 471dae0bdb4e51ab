import test from 'ava';
import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {systemKernel} from '#src/proxy/kernel/system-kernel.js';
import {checkNftables} from '#src/proxy/nftables/nft.js';
import {removeNftables} from '#src/proxy/nftables/nftables-mode.js';
import {FakeNft} from './fake-nft.js';
import {service, slice} from './objects.js';
import {FakeProxy} from './proxy.js';

const check = async (given: Partial<Pick<FakeNft, 'version' | 'kernelRelease' | 'run'>>, environment: Record<string, string> = {}) => {
  const kernel = Object.assign(new FakeNft(), given);
  await checkNftables({kernel, naming: naming('kubernetes'), environment});
};

const refusals: Readonly<Record<string, readonly [Parameters<typeof check>[0], RegExp]>> = {
  'an nft before 1.0.1': [
    {version: 'nftables v1.0.0 (Fearless Fosdick #2)\n'},
    /^nft version must be v1\.0\.1 or later \(got nftables v1\.0\.0 .*\)$/,
  ],
  'an nft of long ago': [{version: 'nftables v0.9.8 (E.D.S.)'}, /^nft version must be v1\.0\.1 or later/],
  'a kernel before 5.13': [{kernelRelease: '5.12.19-generic'}, /^kube-proxy in nftables mode requires kernel 5\.13 or later$/],
  'a kernel of unknown release': [{kernelRelease: 'unknown'}, /^could not check kernel version: /],
  'a machine without nft': [
    {run: () => Promise.reject(Object.assign(new Error('spawn nft ENOENT'), {code: 'ENOENT'}))},
    /^could not find nftables binary: exec: "nft": executable file not found in \$PATH$/,
  ],
  'a process that may not': [
    {
      run: ({args}) =>
        Promise.resolve(
          args.includes('--check')
            ? {exitCode: 1, stdout: '', stderr: 'Error: Could not process rule: Operation not permitted\n'}
            : {exitCode: 0, stdout: 'nftables v1.0.6', stderr: ''},
        ),
    },
    /^could not run nftables command: .*Operation not permitted$/,
  ],
};

for (const [title, [given, message]] of Object.entries(refusals))
  test(`${title} cannot have the rules`, async t => {
    await t.throwsAsync(check(given), {message});
  });

for (const kernelRelease of ['5.13.0', '5.100.1', '6.1.0-18-amd64'])
  test(`a kernel ${kernelRelease} can have the rules`, t => t.notThrowsAsync(check({kernelRelease})));

test('a variable skips the check of the kernel', t =>
  t.notThrowsAsync(check({kernelRelease: '4.19.0'}, {KUBE_PROXY_NFTABLES_SKIP_KERNEL_VERSION_CHECK: '1'})));

test('the tables of both families are removed, and without any there is nothing to do', async t => {
  const {kernel} = await new FakeProxy().begin([service('ns/svc', {clusterIP: '172.30.0.41'})], [slice('ns/svc', ['10.180.0.1'])]);
  await kernel.run({program: 'nft', args: ['-f', '-'], input: 'add table ip others'});

  t.false(await removeNftables(kernel, noLog));
  t.deepEqual([...kernel.tables.keys()], ['ip others']);
  t.false(await removeNftables(kernel, noLog));
});

test('a table that cannot be removed is told of', async t => {
  const {kernel} = await new FakeProxy().begin([service('ns/svc', {clusterIP: '172.30.0.41'})], []);
  kernel.failures = 1;

  t.true(await removeNftables(kernel, noLog));
});

test('a program is given its input, and its output is bounded', async t => {
  t.like(await systemKernel.run({program: 'cat', args: [], input: 'some text'}), {exitCode: 0, stdout: 'some text'});
  t.like(await systemKernel.run({program: 'sh', args: ['-c', 'echo no >&2; exit 3']}), {exitCode: 3, stderr: 'no\n'});
  await t.throwsAsync(systemKernel.run({program: 'cat', args: [], input: 'x'.repeat(2000), maxBytes: 1000}), {
    message: 'cat printed more than 1000 bytes',
  });
  await t.throwsAsync(systemKernel.run({program: 'no-such-program', args: []}), {code: 'ENOENT'});
});

test('kernel parameters are read where they exist', async t => {
  t.is(await systemKernel.readSysctl('no/such/parameter'), undefined);
  if (process.platform === 'linux') t.regex((await systemKernel.readSysctl('kernel/ostype')) ?? '', /^Linux$/);
});

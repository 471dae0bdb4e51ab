import test from 'ava';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {aDirectory, run} from './programs.js';

const proxy = (...args: string[]) => run('plat-proxy', args);

test('the proxy writes its configuration and ends', async t => {
  const file = join(aDirectory(), 'config.yaml');
  const {code, stderr} = await proxy(`--write-config-to=${file}`, '--naming=kubernetes', '--proxy-mode=nftables');

  t.is(code, 0, stderr);
  const text = readFileSync(file, 'utf8');
  t.true(text.includes('kind: KubeProxyConfiguration\n'));
  t.true(text.includes('mode: nftables\n'));
});

for (const [title, args, message] of [
  [
    'an invalid mode',
    ['--proxy-mode=kernelspace'],
    /failed validate: PlatProxyConfiguration\.Mode\.ProxyMode: Invalid value: "kernelspace"/,
  ],
  ['the mode ipvs', ['--proxy-mode=ipvs'], /there is no mode ipvs: use --proxy-mode=nftables, or iptables$/],
  ['a file that is missing', ['--config=/none/such'], /failed complete: open \/none\/such: no such file or directory$/],
  ['an unknown gate', ['--feature-gates=Nothing=true'], /Nothing/],
] as const)
  test(`the proxy refuses ${title} in one line`, async t => {
    const {code, stderr} = await proxy(...args);

    t.is(code, 1);
    t.is(stderr.trimEnd().split('\n').length, 1, stderr);
    t.regex(stderr.trimEnd(), message);
  });

test('the proxy refuses a file whose log has no such format, before anything else', async t => {
  const file = join(aDirectory(), 'config.yaml');
  writeFileSync(file, 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nlogging: {format: xml}\nmode: x\n');
  const {stderr} = await proxy(`--config=${file}`);

  t.is(stderr, 'plat-proxy: initialize logging: logging.format: Invalid value: "xml": Unsupported log format\n');
});

import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {startPlane} from '#src/plane/plane.js';
import {anIssuer, configurationFile} from '#test/apiserver/authentication/issuer.js';
import {hasKubectl, Kubectl} from './kubectl.js';

(hasKubectl(28) ? test : test.skip)('kubectl logs in with a token of an issuer', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-e2e-'));
  t.teardown(() => rmSync(directory, {recursive: true, force: true}));
  await using issuer = await anIssuer(() => Date.now());
  const configuration = configurationFile({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: [
      {
        issuer: {url: issuer.url, certificateAuthority: issuer.ca, audiences: ['me']},
        claimMappings: {username: {claim: 'sub', prefix: 'oidc:'}, groups: {claim: 'teams', prefix: 'team:'}},
      },
    ],
  });
  await using plane = await startPlane({
    naming: 'kubernetes',
    controllers: 'none',
    apiserverArgs: [`--authentication-config=${configuration}`],
  });
  const settings = join(directory, 'none');
  using kubectl = new Kubectl(settings);
  const whoAmI = (token: string) =>
    kubectl.run(['auth', 'whoami', '-o', 'json', `--server=${plane.url}`, '--insecure-skip-tls-verify', `--token=${token}`]);
  const accepted = await whoAmI(issuer.token({teams: ['a']}));
  const refused = await whoAmI(issuer.token({aud: 'you'}));

  t.like(JSON.parse(accepted.stdout), {
    status: {userInfo: {username: 'oidc:jane', groups: ['team:a', 'system:authenticated']}},
  });
  t.not(refused.code, 0);
  t.regex(refused.stderr, /must be logged in|Unauthorized/);
});

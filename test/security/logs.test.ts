import test from 'ava';
import {bodyText, headersText, urlText} from '#src/observe/body-text.js';

const hidden = 'hiddenhiddenhiddenhidden';
/** Where credentials lie in bodies that are no Secret. */
const carriers: readonly ((value: string) => string)[] = [
  value => `{"kind":"Other","token":"${value}"}`,
  value => `{"kind":"Other","spec":{"clientSecret":"a\\"${value}\\n${value}"}}`,
  value => `{"kind":"Other","data":{"kubeconfig":"{\\"users\\":[{\\"user\\":{\\"token\\":\\"${value}\\"}}]}"}}`,
  value => `{"kind":"Pod","spec":{"containers":[{"env":[{"name":"A","value":"${value}"}]}]}}`,
  value => `{"kind":"Pod","metadata":{"annotations":{"last-applied":"{\\"env\\":[{\\"value\\":\\"${value}\\",\\"name\\":\\"A\\"}]}"}}}`,
  value => `[{"op":"replace","path":"/spec/containers/0/env/0/value","value":"${value}"}]`,
  value => `{"webhooks":[{"clientConfig":{"url":"https://hooks.example/${value}?a=${value}"}}]}`,
  value => `{"clientConfig":{"service":{"namespace":"a","path":"/${value}","name":"b"}}}`,
  value => `kind: Pod\nspec:\n  containers:\n  - env:\n    - name: A\n      value: |\n        ${value}\n`,
  value => `kind: Pod\nspec: {containers: [{env: [{name: A, 'value': ${value}}]}]}\n`,
  value => `password: ${value}\n`,
  value => `webhooks:\n- clientConfig:\n    url: https://hooks.example/${value}\n`,
  value => `{"kind":"Other","header":"Bearer ${value}"}`,
  value => `{"kind":"Other","jwt":"eyJ${value}.${value}.${value}"}`,
];

test('no credential in a body is logged, wherever the logged part of the body ends', t => {
  for (const [verbosity, length, step] of [
    [8, 1 << 10, 1],
    [9, 10 << 10, 5],
    [10, 64 << 10, 11],
  ] as const)
    for (const carrier of carriers) {
      const text = carrier(hidden);
      for (let before = length - text.length - 5; before <= length + 5; before += step) {
        const shown = bodyText(`${' '.repeat(before)}${text}`, verbosity);
        t.false(shown.includes('hid'), shown.trim());
      }
    }
});

test('no user, password or token of a URL is logged, nor one of a header', t => {
  for (const url of [
    `https://user:${hidden}@host/path`,
    `https://${hidden}@host`,
    `https://user:${hidden}@host/path?a=b`,
    `/api?access_token=${hidden}&x=y`,
    `/api?x=y&PASSWORD=${hidden}`,
    `https://h/?client_secret=${hidden}`,
  ])
    t.false(urlText(url).includes('hid'), urlText(url));
  t.is(urlText('https://host/a@b?c=d@e'), 'https://host/a@b?c=d@e');
  for (const name of ['Authorization', 'Proxy-Authorization', 'Cookie', 'X-Api-Key', 'X-Auth-Token'])
    t.false(headersText([[name, hidden]]).includes('hid'), name);
  t.false(headersText([['Sec-WebSocket-Protocol', `bearer ${hidden}`]]).includes('hid'));
});

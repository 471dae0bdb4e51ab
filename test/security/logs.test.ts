import test from 'ava';
import {bodyText, headersText, urlText} from '#src/observe/body-text.js';

const hidden = 'hiddenhiddenhiddenhidden';
/** Where credentials lie in bodies that are no Secret. */
const carriers: readonly ((value: string) => string)[] = [
  value => `{"kind":"Other","token":"${value}"}`,
  value => `{"kind":"Other","spec":{"clientSecret":"a\\"${value}\\n${value}"}}`,
  value => `{"kind":"Other","data":{"kubeconfig":"{\\"users\\":[{\\"user\\":{\\"token\\":\\"${value}\\"}}]}"}}`,
  value => `{"kind":"Other","header":"Bearer ${value}"}`,
  value => `{"kind":"Other","jwt":"eyJ${value}.${value}.${value}"}`,
];

test('no credential in a body is logged, wherever the logged part of the body ends', t => {
  for (const [verbosity, length] of [
    [8, 1 << 10],
    [9, 10 << 10],
    [10, 64 << 10],
  ] as const)
    for (const carrier of carriers) {
      const text = carrier(hidden);
      for (let before = length - text.length - 5; before <= length + 5; before++) {
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

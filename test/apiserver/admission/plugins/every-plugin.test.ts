import test from 'ava';
import {defaultAdmissionPlugins, optionalAdmissionPlugins} from '#src/options/apiserver/admission.js';
import type {AdmissionPlugin as PluginName} from '#src/options/apiserver/admission.js';
import {refusal} from '#test/resources/environment.js';
import {mapReviewer, otherRows} from './other-rows.js';
import {podRows, reviewer} from './pod-rows.js';
import {startRow, type Row} from './row.js';

const [images, hooks] = await Promise.all([reviewer(), mapReviewer()]);
test.after.always(async () => {
  await images[Symbol.asyncDispose]();
  await hooks[Symbol.asyncDispose]();
});

const rows: Readonly<Record<string, Row>> = {...podRows(images), ...otherRows(hooks)};

test('every plugin has a row, with a request that it admits and one that it refuses or changes', t => {
  const names = [...defaultAdmissionPlugins, ...optionalAdmissionPlugins];
  t.is(names.length, 37);
  t.deepEqual(Object.keys(rows).sort(), [...names].sort());
  const incomplete = Object.entries(rows).filter(([, {admits, refuses, changes}]) => !admits || !(refuses ?? changes));
  t.deepEqual(incomplete.map(([name]) => name).sort(), ['AlwaysAdmit', 'AlwaysDeny']);
});

for (const [name, {own, setup, admits, refuses, changes}] of Object.entries(rows)) {
  test(`${name} admits, and refuses or changes, requests to the API`, async t => {
    const {env, enable} = await startRow(name as PluginName, own);
    await setup?.(env);
    enable();

    if (admits) {
      const result = await admits[0](env);
      if (admits.length > 1) t.deepEqual(result, admits[1]);
    }
    if (refuses) t.is((await refusal(refuses[0](env))).message, refuses[1]);
    if (changes) t.deepEqual(await changes[0](env), changes[1]);
  });
}

// Which program the executable is, by the name that it is called by or by its first argument.
'use strict';
const {basename} = require('node:path');

/**
 * The programs by the names they are called by, and the script that has each. The last two are those of test
 * environments.
 */
const programs = {
  plat: {name: 'plat', script: 'plat'},
  'plat-apiserver': {name: 'plat-apiserver', script: 'plat-apiserver'},
  'plat-controller-manager': {name: 'plat-controller-manager', script: 'plat'},
  'plat-scheduler': {name: 'plat-scheduler', script: 'plat'},
  'plat-dns': {name: 'plat-dns', script: 'plat'},
  platlet: {name: 'platlet', script: 'plat'},
  'plat-proxy': {name: 'plat-proxy', script: 'plat'},
  'kube-apiserver': {name: 'plat-envtest-apiserver', script: 'plat'},
  etcd: {name: 'plat-envtest-store', script: 'plat'},
};

const isProgram = name => name !== undefined && Object.hasOwn(programs, name);

/**
 * Returns the program, and whether the first argument named it. Under any other name, such as the one of a release's
 * file, the executable is `plat`.
 */
const programOf = (calledBy, [first]) => {
  const name = basename(calledBy).replace(/\.exe$/i, '');
  if (isProgram(name) && name !== 'plat') return {...programs[name], fromArgument: false};
  return isProgram(first) ? {...programs[first], fromArgument: true} : {...programs.plat, fromArgument: false};
};

module.exports = {programOf, programNames: Object.keys(programs)};

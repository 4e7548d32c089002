// Names a build, as constants that the bundler puts in. A development build shares nothing with an installed
// Culvert: neither socket, port, state, configuration and accounts of tools nor a name on the bus.
export const profiles = {
  default: {},
  development: {
    __NAME__: '"culvert-devel"',
    __APP_ID__: '"org.culvert.Culvert.Devel"',
    __PORT__: '4273',
  },
};

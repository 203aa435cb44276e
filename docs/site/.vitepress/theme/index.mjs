import { defineAsyncComponent } from "vue";
import DefaultTheme from "vitepress/theme-without-fonts";
import "./site.css";

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component("FencingDemo", defineAsyncComponent(() => import("./FencingDemo.vue")));
  },
};

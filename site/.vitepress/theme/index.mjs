// The default theme, and tables and pictures that fit on a phone.
import DefaultTheme from 'vitepress/theme';
import './style.css';

export default DefaultTheme;
